// native/sparse_attention/attention_avx512_bf16.cpp
// Attention with products of pairs of bfloat16: keys are read where they lie, values are interleaved two tokens at a
// time.
#include <immintrin.h>

#define OPWRIGHT_LANES 16
#include "sparse_attention/attention_tile.h"

namespace opwright::sparse {

namespace {

struct PairMultiply {
  static constexpr int64_t kStep = 2;
  static constexpr int64_t kTile = 128;
  static constexpr int64_t kTileFloats = kTile / 2 * kLatent;

  struct LaidOut {
    TokenTile tile;
    ValuePanels values;
  };

  static Floats add(Floats sum, const char* factor, Floats lanes) {
    const __m512i pair = _mm512_set1_epi32(load<int32_t>(factor));
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(pair), reinterpret_cast<__m512bh>(lanes));
  }

  static void copy_query(const char* from, int64_t count, char* row) { std::memcpy(row, from, 2 * count); }

  // Pages are far apart: the memory's latency is hidden by asking for tokens that come later.
  static void expect(const TokenTile& tile, int64_t token, bool has_rope) {
    if (token >= tile.count) return;
    for (int64_t byte = 0; byte < 2 * kLatent; byte += 64) __builtin_prefetch(tile.values[token] + byte);
    if (tile.keys[token] != tile.values[token]) {
      for (int64_t byte = 0; byte < 2 * kLatent; byte += 64) __builtin_prefetch(tile.keys[token] + byte);
    }
    if (has_rope) {
      for (int64_t byte = 0; byte < 2 * kRope; byte += 64) __builtin_prefetch(tile.ropes[token] + byte);
    }
  }

  static void lay_out_tile(const TokenTile& tile, bool has_rope, char* memory, LaidOut& result) {
    constexpr int64_t kAhead = 8;
    constexpr int64_t kPanelBytes = kTile / 2 * kPanel * 4;
    for (int64_t token = 0; token < kAhead; ++token) expect(tile, token, has_rope);
    for (int64_t token = 0; token < tile.count; token += 2) {
      expect(tile, token + kAhead, has_rope);
      expect(tile, token + kAhead + 1, has_rope);
      const bool has_second = token + 1 < tile.count;
      const char *const first = tile.values[token], *const second = has_second ? tile.values[token + 1] : first;
      const __mmask16 mask = has_second ? 0xffff : 0;
      for (int64_t column = 0; column < kLatent; column += kLanes) {
        const __m512i low = _mm512_cvtepu16_epi32(load<__m256i>(first + 2 * column));
        const __m512i high = _mm512_maskz_cvtepu16_epi32(mask, load<__m256i>(second + 2 * column));
        store(memory + column / kPanel * kPanelBytes + token / 2 * kPanel * 4 + column % kPanel * 4,
              _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
      }
    }
    result.tile = tile;
    result.values = {memory, kPanelBytes, 4 * kPanel};
  }

  // Two tokens become one row, which lies at or before what is still to be read.
  static Floats store_powers(float* scores, int64_t stride, int64_t count, Floats highest) {
    Floats sum{};
    for (int64_t token = 0; token < count; token += 2) {
      const Floats first = power(load<Floats>(scores + token * stride) - highest);
      const Floats second = token + 1 < count ? power(load<Floats>(scores + (token + 1) * stride) - highest) : Floats{};
      sum += first;
      sum += second;
      const Words low = Bfloat16Format::rounded(first) >> 16;
      store(scores + token / 2 * stride, low | (Bfloat16Format::rounded(second) & 0xffff0000U));
    }
    return sum;
  }
};

constexpr AttentionKernel kKernel = {
    PairMultiply::kTile,    scratch_bytes<PairMultiply>,          begin<PairMultiply>,
    add_tile<PairMultiply>, finish<PairMultiply, Bfloat16Format>, dequantize<Bfloat16Format>,
};

}  // namespace

const AttentionKernel* attention_avx512_bf16(Element element) {
  return element == Element::kBfloat16 ? &kKernel : nullptr;
}

}  // namespace opwright::sparse
