// native/sparse_attention/attention_float.h
// Attention with products of float32: tiles are converted when they are gathered.
#pragma once

#include "sparse_attention/attention_tile.h"

namespace opwright::sparse {
namespace {

template <class Format>
struct FloatMultiply {
  static constexpr int64_t kStep = 1;
  static constexpr int64_t kTile = 64;
  static constexpr int64_t kTileFloats = kTile * (kWidth + kLatent);

  struct LaidOut {
    const char* keys[kTile + kTilePadding];
    const char* ropes[kTile + kTilePadding];
    TokenTile tile;
    ValuePanels values;
  };

  static Floats add(Floats sum, const char* factor, Floats lanes) { return sum + load<float>(factor) * lanes; }

  static void copy_query(const char* from, int64_t count, char* row) {
    widen_row<Format>(from, count, reinterpret_cast<float*>(row));
  }

  static void lay_out_tile(const TokenTile& tile, bool has_rope, char* memory, LaidOut& result) {
    auto* const keys = reinterpret_cast<float*>(memory);
    auto* const values = keys + kTile * kWidth;
    bool shared = true;  // most often keys and values are the same memory
    for (int64_t i = 0; i < tile.count; ++i) {
      float* const key = keys + i * kWidth;
      widen_row<Format>(tile.keys[i], kLatent, key);
      if (has_rope) widen_row<Format>(tile.ropes[i], kRope, key + kLatent);
      shared = shared && tile.values[i] == tile.keys[i];
    }
    for (int64_t i = 0; i < tile.count && !shared; ++i) {
      widen_row<Format>(tile.values[i], kLatent, values + i * kLatent);
    }
    for (int64_t i = 0; i < tile.count + kTilePadding; ++i) {
      const float* const key = keys + (i < tile.count ? i : 0) * kWidth;
      result.keys[i] = reinterpret_cast<const char*>(key);
      result.ropes[i] = reinterpret_cast<const char*>(key + kLatent);
    }
    result.tile = {result.keys, result.ropes, nullptr, tile.count};
    result.values = {reinterpret_cast<const char*>(shared ? keys : values), 4 * kPanel,
                     4 * (shared ? kWidth : kLatent)};
  }

  static Floats store_powers(float* scores, int64_t stride, int64_t count, Floats highest) {
    Floats sum{};
    for (int64_t token = 0; token < count; ++token) {
      const Floats value = power(load<Floats>(scores + token * stride) - highest);
      sum += value;
      store(scores + token * stride, Format::round(value));
    }
    return sum;
  }
};

template <class Format>
const AttentionKernel* float_kernel() {
  using Multiply = FloatMultiply<Format>;
  static const AttentionKernel kKernel = {
      Multiply::kTile,    scratch_bytes<Multiply>,  begin<Multiply>,
      add_tile<Multiply>, finish<Multiply, Format>, dequantize<Format>,
  };
  return &kKernel;
}

const AttentionKernel* float_kernel(Element element) {
  return element == Element::kHalf ? float_kernel<HalfFormat>() : float_kernel<Bfloat16Format>();
}

}  // namespace
}  // namespace opwright::sparse
