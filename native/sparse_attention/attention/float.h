// native/sparse_attention/attention/float.h
// Attention with products of float32: tiles are converted when they are gathered.
#pragma once

#include "sparse_attention/attention/tile.h"

namespace opwright::sparse {
namespace {

template <class Format>
struct FloatMultiply {
  static constexpr int64_t kStep = 1;
  static constexpr int64_t kTile = 60;
  static constexpr bool kInPlace = false;
  static constexpr bool kTiles = false;
  static constexpr int64_t kTileFloats = kTile * kWidth;

  struct Keys {
    const char* keys[kTile + kTilePadding];
    const char* ropes[kTile + kTilePadding];
  };
  struct Values {
    const char* first;
    static constexpr int64_t kPanelBytes = 4 * kPanel, kStepBytes = 4 * kLatent;
  };

  static Floats add(Floats sum, const char* factor, Floats lanes) { return sum + load<float>(factor) * lanes; }

  static void copy_query(const char* from, int64_t count, char* row) {
    widen_row<Format>(from, count, reinterpret_cast<float*>(row));
  }

  static void lay_out_keys(const TokenTile& tile, bool has_rope, char* memory, Keys& result) {
    auto* const rows = reinterpret_cast<float*>(memory);
    for (int64_t i = 0; i < tile.count; ++i) {
      prefetch_rows<2 * kLatent>(tile.keys, i + kAhead, tile.count);
      if (has_rope) prefetch_rows<2 * kRope>(tile.ropes, i + kAhead, tile.count);
      widen_row<Format>(tile.keys[i], kLatent, rows + i * kWidth);
      if (has_rope) widen_row<Format>(tile.ropes[i], kRope, rows + i * kWidth + kLatent);
    }
    for (int64_t i = 0; i < tile.count + kTilePadding; ++i) {
      const float* const row = rows + (i < tile.count ? i : 0) * kWidth;
      result.keys[i] = reinterpret_cast<const char*>(row);
      result.ropes[i] = reinterpret_cast<const char*>(row + kLatent);
    }
  }

  static Values lay_out_values(const TokenTile& tile, char* memory) {
    auto* const rows = reinterpret_cast<float*>(memory);
    for (int64_t i = 0; i < tile.count; ++i) {
      prefetch_rows<2 * kLatent>(tile.values, i + kAhead, tile.count);
      widen_row<Format>(tile.values[i], kLatent, rows + i * kLatent);
    }
    return {memory};
  }

  static void pack_probabilities(const float* exponentials, int64_t stride, int64_t count, Floats factor, float* to) {
    for (int64_t token = 0; token < count; ++token) {
      store(to + token * stride, Format::round(load<Floats>(exponentials + token * stride) * factor));
    }
  }
};

template <class Format>
constexpr AttentionKernel kFloatKernel = {
    FloatMultiply<Format>::kTile,
    scratch_bytes<FloatMultiply<Format>>,
    begin<FloatMultiply<Format>>,
    score_tile<FloatMultiply<Format>>,
    add_tile<FloatMultiply<Format>>,
    finish<FloatMultiply<Format>, Format>,
    dequantize<Format>,
};

const AttentionKernel* float_kernel(Element element) {
  return element == Element::kHalf ? &kFloatKernel<HalfFormat> : &kFloatKernel<Bfloat16Format>;
}

}  // namespace
}  // namespace opwright::sparse
