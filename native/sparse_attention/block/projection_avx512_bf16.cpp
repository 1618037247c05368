// native/sparse_attention/block/projection_avx512_bf16.cpp
// Strips with the CPU's own bfloat16 products: a lane adds x[k] w[k] + x[k + 1] w[k + 1] to a float32 sum.
// The depth is even, as that of FRACTAL_NZ is.
#include <immintrin.h>
#include <string.h>

#include "sparse_attention/block/projection_strip.h"

namespace opwright::sparse {

namespace {

// Rows of a tile that is kept in registers, and the depth after which the next rows have their turn while these
// weights are in a cache near the core.
constexpr int kWideRows = 6;   // of four panels: 24 of 32 registers
constexpr int kMostRows = 12;  // of two
constexpr int64_t kTileDepth = 1024;
constexpr int64_t kAhead = 96;  // rows of FRACTAL_NZ, 3 KiB, that are fetched before they are needed

// Two rows of a panel, interleaved; those of FRACTAL_NZ lie one after the other.
template <bool kNz>
__m512i load_pair(const uint16_t* weight, int64_t row_stride, __m512i order) {
  if constexpr (kNz) return _mm512_permutexvar_epi16(order, _mm512_loadu_si512(weight));
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weight));
  const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weight + row_stride));
  return _mm512_permutex2var_epi16(_mm512_castsi256_si512(first), order, _mm512_castsi256_si512(second));
}

template <bool kNz>
__m512i interleaving() {
  constexpr int kSecond = kNz ? 16 : 32;  // where the second row begins
  alignas(64) uint16_t order[32];
  for (int i = 0; i < 32; ++i) order[i] = static_cast<uint16_t>(i / 2 + i % 2 * kSecond);
  return _mm512_load_si512(order);
}

// Fetches what is needed soon. A panel of FRACTAL_NZ is one stream. Rows of other layouts are apart, which the CPU does
// not foresee; behind this weight is that of the next head.
template <bool kNz>
void fetch(const uint16_t* weight, const Strip& strip) {
  if constexpr (kNz) {
    _mm_prefetch(weight + kAhead * kPanel, _MM_HINT_T0);
  } else {
    const uint16_t* const next = weight + strip.depth * strip.row_stride;
    _mm_prefetch(next, _MM_HINT_T1);
    _mm_prefetch(next + strip.row_stride, _MM_HINT_T1);
  }
}

__m512bh broadcast_pair(const uint16_t* x) {
  int32_t pair;
  memcpy(&pair, x, sizeof(pair));
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
}

// out[kRows, kPanels * 16] += x[kRows, depth] weight
template <bool kNz, int kRows, int kPanels>
void tile(const uint16_t* x, int64_t depth, const uint16_t* weight, const Strip& strip, float* out) {
  const __m512i order = interleaving<kNz>();
  __m512 sum[kRows][kPanels];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) sum[r][p] = _mm512_loadu_ps(out + r * kStrip + p * kPanel);
  }
  const int64_t row_stride = kNz ? kPanel : strip.row_stride;
  for (int64_t k = 0; k < depth; k += 2) {
    __m512bh pair[kPanels];
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const uint16_t* const from = weight + p * strip.panel_stride + k * row_stride;
      fetch<kNz>(from, strip);
      pair[p] = reinterpret_cast<__m512bh>(load_pair<kNz>(from, row_stride, order));
    }
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const __m512bh value = broadcast_pair(x + r * strip.x_stride + k);
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) sum[r][p] = _mm512_dpbf16_ps(sum[r][p], value, pair[p]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) _mm512_storeu_ps(out + r * kStrip + p * kPanel, sum[r][p]);
  }
}

using Tile = void (*)(const uint16_t* x, int64_t depth, const uint16_t* weight, const Strip& strip, float* out);

template <bool kNz, int kPanels>
constexpr Tile kTiles[] = {tile<kNz, 1, kPanels>,  tile<kNz, 2, kPanels>,  tile<kNz, 3, kPanels>,
                           tile<kNz, 4, kPanels>,  tile<kNz, 5, kPanels>,  tile<kNz, 6, kPanels>,
                           tile<kNz, 7, kPanels>,  tile<kNz, 8, kPanels>,  tile<kNz, 9, kPanels>,
                           tile<kNz, 10, kPanels>, tile<kNz, 11, kPanels>, tile<kNz, 12, kPanels>};

// All panels for the rows of a block.
template <bool kNz>
void panels(const uint16_t* x, int64_t rows, int64_t depth, const uint16_t* weight, const Strip& strip, float* out) {
  int p = 0;
  const auto each = [&](int at_once, Tile tile) {
    for (; p + at_once <= strip.panels; p += at_once)
      tile(x, depth, weight + p * strip.panel_stride, strip, out + p * kPanel);
  };
  if (rows <= kWideRows) each(4, kTiles<kNz, 4>[rows - 1]);
  each(2, kTiles<kNz, 2>[rows - 1]);
  each(1, kTiles<kNz, 1>[rows - 1]);
}

// Rows of a block: all if they fit, else as even as can be.
int64_t block_rows(int64_t rows) {
  if (rows <= kMostRows) return rows;
  const int64_t blocks = (rows + kWideRows - 1) / kWideRows;
  return (rows + blocks - 1) / blocks;
}

}  // namespace

void strip_avx512_bf16(const Strip& strip) {
  memset(strip.out, 0, sizeof(float) * strip.rows * kStrip);
  const auto part = strip.row_stride == kPanel ? panels<true> : panels<false>;
  const int64_t height = block_rows(strip.rows);
  for (int64_t k = 0; k < strip.depth; k += kTileDepth) {
    const int64_t depth = strip.depth - k < kTileDepth ? strip.depth - k : kTileDepth;
    for (int64_t row = 0; row < strip.rows; row += height) {
      const int64_t rows = strip.rows - row < height ? strip.rows - row : height;
      part(strip.x + row * strip.x_stride + k, rows, depth, strip.weight + k * strip.row_stride, strip,
           strip.out + row * kStrip);
    }
  }
}

}  // namespace opwright::sparse
