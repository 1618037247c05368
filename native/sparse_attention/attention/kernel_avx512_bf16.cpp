// native/sparse_attention/attention/kernel_avx512_bf16.cpp
// Attention with products of pairs of bfloat16: keys are read where they lie, values are interleaved two tokens at a
// time.
#include <immintrin.h>

#define OPWRIGHT_LANES 16
#include "sparse_attention/attention/tile.h"

namespace opwright::sparse {

namespace {

struct PairMultiply {
  static constexpr int64_t kStep = 2;
  static constexpr int64_t kTile = 126;
  static constexpr bool kInPlace = true;
  static constexpr bool kTiles = false;
  static constexpr int64_t kTileFloats = kTile / 2 * kLatent;

  struct Keys {
    const char *const *keys, *const *ropes;
  };
  struct Values {
    const char* first;
    static constexpr int64_t kPanelBytes = kTile / 2 * kPanel * 4, kStepBytes = 4 * kPanel;
  };

  static Floats add(Floats sum, const char* factor, Floats lanes) {
    const __m512i pair = _mm512_set1_epi32(load<int32_t>(factor));
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(pair), reinterpret_cast<__m512bh>(lanes));
  }

  static void copy_query(const char* from, int64_t count, char* row) { std::memcpy(row, from, 2 * count); }

  static void lay_out_keys(const TokenTile& tile, bool, char*, Keys& result) { result = {tile.keys, tile.ropes}; }

  static Values lay_out_values(const TokenTile& tile, char* memory) {
    interleave<Values>(tile, memory);
    return {memory};
  }

  template <class Panels>
  static void interleave(const TokenTile& tile, char* memory) {
    for (int64_t token = 0; token < tile.count; token += 2) {
      prefetch_rows<2 * kLatent>(tile.values, token + kAhead, tile.count);
      prefetch_rows<2 * kLatent>(tile.values, token + kAhead + 1, tile.count);
      const bool has_second = token + 1 < tile.count;
      const char *const first = tile.values[token], *const second = has_second ? tile.values[token + 1] : first;
      const __mmask16 mask = has_second ? 0xffff : 0;
      for (int64_t column = 0; column < kLatent; column += kLanes) {
        const __m512i low = _mm512_cvtepu16_epi32(load<__m256i>(first + 2 * column));
        const __m512i high = _mm512_maskz_cvtepu16_epi32(mask, load<__m256i>(second + 2 * column));
        char* const panel = memory + column / kPanel * Panels::kPanelBytes + token / 2 * Panels::kStepBytes;
        store(panel + column % kPanel * 4, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
      }
    }
  }

  static void pack_probabilities(const float* exponentials, int64_t stride, int64_t count, Floats factor, float* to) {
    for (int64_t token = 0; token < count; token += 2) {
      const Floats first = load<Floats>(exponentials + token * stride) * factor;
      const Floats second = token + 1 < count ? load<Floats>(exponentials + (token + 1) * stride) * factor : Floats{};
      const Words low = Bfloat16Format::rounded(first) >> 16;
      store(to + token / 2 * stride, low | (Bfloat16Format::rounded(second) & 0xffff0000U));
    }
  }
};

// The same with whole tiles, of which tokens that do not exist have probability 0 and value 0.
struct TileMultiply : PairMultiply {
  static constexpr int64_t kTile = 128;
  static constexpr bool kTiles = true;
  static constexpr int64_t kTileFloats = kTile / 2 * kWidth;

  struct Values {
    const char* first;
    static constexpr int64_t kPanelBytes = kTile / 2 * kPanel * 4, kStepBytes = 4 * kPanel;
  };

  static void lay_out_keys(const TokenTile& tile, bool has_rope, char* memory, Keys& result) {
    const int64_t bytes = 2 * (kLatent + (has_rope ? kRope : 0));
    for (int64_t i = 0; i < tile.count; ++i) {
      prefetch_rows<2 * kLatent>(tile.keys, i + kAhead, tile.count);
      if (has_rope) prefetch_rows<2 * kRope>(tile.ropes, i + kAhead, tile.count);
      std::memcpy(memory + i * bytes, tile.keys[i], 2 * kLatent);
      if (has_rope) std::memcpy(memory + i * bytes + 2 * kLatent, tile.ropes[i], 2 * kRope);
    }
    result = {nullptr, nullptr};
  }

  static Values lay_out_values(const TokenTile& tile, char* memory) {
    interleave<Values>(tile, memory);
    const int64_t used = (tile.count + 1) / 2 * Values::kStepBytes;
    for (int64_t panel = 0; panel < kLatent / kPanel; ++panel) {
      std::memset(memory + panel * Values::kPanelBytes + used, 0, Values::kPanelBytes - used);
    }
    return {memory};
  }
};

template <class Multiply>
constexpr AttentionKernel kKernel = {
    Multiply::kTile,
    scratch_bytes<Multiply>,
    begin<Multiply>,
    score_tile<Multiply>,
    add_tile<Multiply>,
    finish<Multiply, Bfloat16Format>,
    dequantize<Bfloat16Format>,
};

}  // namespace

const AttentionKernel* attention_avx512_bf16(Element element) {
  return element == Element::kBfloat16 ? &kKernel<PairMultiply> : nullptr;
}

const AttentionKernel* attention_tiles() { return &kKernel<TileMultiply>; }

}  // namespace opwright::sparse
