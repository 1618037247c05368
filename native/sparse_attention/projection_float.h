// native/sparse_attention/projection_float.h
// Strips with float32 arithmetic, in the compiler's vectors. Included by one file for each instruction set, which says
// how wide they are; everything is local to that file.
#pragma once

#include <string.h>

#include "sparse_attention/projection_strip.h"

namespace opwright::sparse {
namespace {

// Rows of a tile that is kept in registers, and the depth after which the next rows have their turn while these
// weights are in a cache near the core.
constexpr int kLanes = OPWRIGHT_LANES;         // of a vector
constexpr int kWidest = OPWRIGHT_TILE_PANELS;  // panels of a tile of one row
constexpr int kTileRows = 4;
constexpr int64_t kTileDepth = 512;

typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef uint32_t Words __attribute__((vector_size(4 * kLanes)));
typedef uint16_t Halves __attribute__((vector_size(2 * kLanes)));

Floats load(const float* from) {
  Floats values;
  memcpy(&values, from, sizeof(values));
  return values;
}

void store(float* to, Floats values) { memcpy(to, &values, sizeof(values)); }

Floats widen(const uint16_t* from) {
  Halves halves;
  memcpy(&halves, from, sizeof(halves));
  return reinterpret_cast<Floats>(__builtin_convertvector(halves, Words) << 16);
}

// out[kRows, kPanels * 16] += x[kRows, depth] weight
template <int kRows, int kPanels>
void tile(const float* x, int64_t depth, const uint16_t* weight, const Strip& strip, float* out) {
  constexpr int kVectors = kPanel / kLanes;
  Floats sum[kRows][kPanels][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][p][v] = load(out + r * kStrip + p * kPanel + v * kLanes);
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const auto w = widen(weight + p * strip.panel_stride + k * strip.row_stride + v * kLanes);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) sum[r][p][v] += w * x[r * kTileDepth + k];
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) store(out + r * kStrip + p * kPanel + v * kLanes, sum[r][p][v]);
    }
  }
}

// As many panels side by side as registers allow: kWidest for one row.
template <int kRows>
void tiles(const float* x, int64_t depth, const uint16_t* weight, const Strip& strip, float* out) {
  constexpr int kFit = kWidest / kRows;
  constexpr int kAtOnce = kFit >= 4 ? 4 : kFit >= 2 ? 2 : 1;
  int p = 0;
  for (; p + kAtOnce <= strip.panels; p += kAtOnce) {
    tile<kRows, kAtOnce>(x, depth, weight + p * strip.panel_stride, strip, out + p * kPanel);
  }
  for (; p < strip.panels; ++p) {
    tile<kRows, 1>(x, depth, weight + p * strip.panel_stride, strip, out + p * kPanel);
  }
}

void float_strip(const Strip& strip) {
  float x[kTileRows * kTileDepth];
  memset(strip.out, 0, sizeof(float) * strip.rows * kStrip);
  for (int64_t k = 0; k < strip.depth; k += kTileDepth) {
    const int64_t depth = strip.depth - k < kTileDepth ? strip.depth - k : kTileDepth;
    const uint16_t* const weight = strip.weight + k * strip.row_stride;
    for (int64_t row = 0; row < strip.rows; row += kTileRows) {
      const int64_t rows = strip.rows - row < kTileRows ? strip.rows - row : kTileRows;
      for (int64_t r = 0; r < rows; ++r) {
        const uint16_t* const from = strip.x + (row + r) * strip.x_stride + k;
        for (int64_t i = 0; i < depth; ++i) {
          const uint32_t word = static_cast<uint32_t>(from[i]) << 16;
          memcpy(x + r * kTileDepth + i, &word, sizeof(word));
        }
      }
      float* const out = strip.out + row * kStrip;
      if (rows == 4) tiles<4>(x, depth, weight, strip, out);
      if (rows == 3) tiles<3>(x, depth, weight, strip, out);
      if (rows == 2) tiles<2>(x, depth, weight, strip, out);
      if (rows == 1) tiles<1>(x, depth, weight, strip, out);
    }
  }
}

}  // namespace
}  // namespace opwright::sparse
