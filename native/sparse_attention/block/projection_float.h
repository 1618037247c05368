// native/sparse_attention/block/projection_float.h
// Strips with float32 arithmetic, in the compiler's vectors. Included by one file for each instruction set, which says
// how wide they are (OPWRIGHT_LANES) and how many of them the sums of a tile may take (OPWRIGHT_SUMS); everything is
// local to that file.
#pragma once

#include <string.h>

#include "sparse_attention/block/projection_strip.h"

namespace opwright::sparse {
namespace {

constexpr int kLanes = OPWRIGHT_LANES;
constexpr int kVectors = kPanel / kLanes;  // of a panel's row
// The depth after which the next rows have their turn, while these weights are in a cache near the core.
constexpr int64_t kTileDepth = 512;
constexpr int64_t kAhead = 96;  // rows of FRACTAL_NZ, 3 KiB, that are fetched before they are needed

typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef uint32_t Words __attribute__((vector_size(4 * kLanes)));
typedef uint16_t Halves __attribute__((vector_size(2 * kLanes)));

template <class Vector>
Vector load(const void* from) {
  Vector values;
  memcpy(&values, from, sizeof(values));
  return values;
}

void store(float* to, Floats values) { memcpy(to, &values, sizeof(values)); }

// A panel's row. Narrow vectors hold even columns and odd ones apart, which no shuffle is needed for: column 2 i is
// lane i of the first, 2 i + 1 that of the second, 2 kLanes + 2 i that of the third.
void widen(const uint16_t* from, Floats (&to)[kVectors]) {
  if constexpr (kLanes == kPanel) {
    to[0] = reinterpret_cast<Floats>(__builtin_convertvector(load<Halves>(from), Words) << 16);
  } else {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; v += 2) {
      const Words pairs = load<Words>(from + v * kLanes);
      to[v] = reinterpret_cast<Floats>(pairs << 16);
      to[v + 1] = reinterpret_cast<Floats>(pairs & 0xffff0000U);
    }
  }
}

// Where a column of a panel is in its vectors, one after the other.
int place(int column) {
  if (kLanes == kPanel) return column;
  const int pair = column / (2 * kLanes);
  return (2 * pair + column % 2) * kLanes + column % (2 * kLanes) / 2;
}

// out[kRows, kPanels * 16] += x[kRows, depth] weight
template <int kRows, int kPanels>
void tile(const float* x, int64_t depth, const uint16_t* weight, const Strip& strip, float* out) {
  Floats sum[kRows][kPanels][kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][p][v] = load<Floats>(out + r * kStrip + p * kPanel + v * kLanes);
    }
  }
  // A panel of FRACTAL_NZ is one stream. Rows of other layouts are apart, which the CPU does not foresee; behind this
  // weight is that of the next head.
  const int64_t ahead = strip.row_stride == kPanel ? kAhead * kPanel : strip.depth * strip.row_stride;
  for (int64_t k = 0; k < depth; ++k) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const uint16_t* const from = weight + p * strip.panel_stride + k * strip.row_stride;
      __builtin_prefetch(from + ahead, 0, 2);  // to read, into the second cache
      Floats w[kVectors];
      widen(from, w);
#pragma GCC unroll 12
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[r][p][v] += w[v] * x[r * kTileDepth + k];
      }
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) store(out + r * kStrip + p * kPanel + v * kLanes, sum[r][p][v]);
    }
  }
}

// Panels side by side, and rows of a tile, that sums leave room for.
constexpr int panels_of(int rows) {
  const int fit = OPWRIGHT_SUMS / (rows * kVectors);
  return fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
}
constexpr int kMostRows = OPWRIGHT_SUMS / (kVectors * (kLanes == kPanel ? 2 : 1));

// All panels for kRows rows.
template <int kRows>
void panels(const float* x, int64_t depth, const uint16_t* weight, const Strip& strip, float* out) {
  constexpr int kAtOnce = panels_of(kRows);
  int p = 0;
  for (; p + kAtOnce <= strip.panels; p += kAtOnce) {
    tile<kRows, kAtOnce>(x, depth, weight + p * strip.panel_stride, strip, out + p * kPanel);
  }
  for (; p < strip.panels; ++p) {
    tile<kRows, 1>(x, depth, weight + p * strip.panel_stride, strip, out + p * kPanel);
  }
}

template <int kRows>
void block(int64_t rows, const float* x, int64_t depth, const uint16_t* weight, const Strip& strip, float* out) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return block<kRows - 1>(rows, x, depth, weight, strip, out);
  }
  panels<kRows>(x, depth, weight, strip, out);
}

void widen_rows(const uint16_t* from, int64_t stride, int64_t rows, int64_t depth, float* to) {
  for (int64_t r = 0; r < rows; ++r, from += stride, to += kTileDepth) {
    for (int64_t i = 0; i < depth; ++i) {
      const uint32_t word = static_cast<uint32_t>(from[i]) << 16;
      memcpy(to + i, &word, sizeof(word));
    }
  }
}

void order_columns(float* out, int64_t rows) {
  for (float* panel = out; panel < out + rows * kStrip; panel += kPanel) {
    float columns[kPanel];
    for (int i = 0; i < kPanel; ++i) columns[i] = panel[place(i)];
    memcpy(panel, columns, sizeof(columns));
  }
}

void float_strip(const Strip& strip) {
  float x[kMostRows * kTileDepth];
  memset(strip.out, 0, sizeof(float) * strip.rows * kStrip);
  const int64_t blocks = (strip.rows + kMostRows - 1) / kMostRows;
  const int64_t height = (strip.rows + blocks - 1) / blocks;  // blocks as even as can be
  for (int64_t k = 0; k < strip.depth; k += kTileDepth) {
    const int64_t depth = strip.depth - k < kTileDepth ? strip.depth - k : kTileDepth;
    for (int64_t row = 0; row < strip.rows; row += height) {
      const int64_t rows = strip.rows - row < height ? strip.rows - row : height;
      widen_rows(strip.x + row * strip.x_stride + k, strip.x_stride, rows, depth, x);
      block<kMostRows>(rows, x, depth, strip.weight + k * strip.row_stride, strip, strip.out + row * kStrip);
    }
  }
  if (kLanes != kPanel) order_columns(strip.out, strip.rows);
}

}  // namespace
}  // namespace opwright::sparse
