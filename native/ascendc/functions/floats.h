// native/ascendc/functions/floats.h
// Elements of half, bfloat16_t and float as floats, and back with one rounding.
#pragma once

#include "advanced/operands.h"
#include "instructions/numbers.h"

namespace AscendC::machine::advanced {

// `count` elements from `start` on, in `buffer` unless they are floats already.
inline const float* floats_of(const Run& run, size_t start, uint32_t count, float* buffer) {
  switch (run.number) {
    case Number::kFloat:
      return static_cast<const float*>(run.data) + start;
    case Number::kHalf:
      vector::widen(buffer, static_cast<const half*>(run.data) + start, count);
      return buffer;
    case Number::kBfloat16:
      vector::widen(buffer, static_cast<const bfloat16_t*>(run.data) + start, count);
      return buffer;
    case Number::kInt32:
      for (uint32_t i = 0; i < count; ++i)
        buffer[i] = static_cast<float>(static_cast<const int32_t*>(run.data)[start + i]);
      return buffer;
    case Number::kInt8:
      for (uint32_t i = 0; i < count; ++i)
        buffer[i] = static_cast<float>(static_cast<const int8_t*>(run.data)[start + i]);
      return buffer;
    default:
      refuse("high-level API", "this element type is not computed as float");
  }
}

// Where results go before they are rounded: the destination itself if it holds floats.
inline float* space_for(const Run& run, size_t start, float* buffer) {
  return run.number == Number::kFloat ? static_cast<float*>(run.data) + start : buffer;
}
inline void put_floats(const Run& run, size_t start, uint32_t count, const float* values) {
  switch (run.number) {
    case Number::kFloat:
      if (values != static_cast<float*>(run.data) + start) {
        std::copy_n(values, count, static_cast<float*>(run.data) + start);
      }
      return;
    case Number::kHalf:
      vector::narrow_exactly(static_cast<half*>(run.data) + start, values, count);
      return;
    case Number::kBfloat16:
      for (uint32_t i = 0; i < count; ++i) static_cast<bfloat16_t*>(run.data)[start + i] = bfloat16_t(values[i]);
      return;
    default:
      refuse("high-level API", "this element type is not computed as float");
  }
}

inline constexpr uint32_t kAtOnce = 256;  // elements of a step, few enough to stay in the first cache

}  // namespace AscendC::machine::advanced
