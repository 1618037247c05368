// native/ascendc/instructions/numbers.h
// Lanes of each element type as the numbers that arithmetic is done in, and back: half and bfloat16_t are computed as
// float and rounded once, in blocks of lanes; other types as they are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/types.h"
#include "instructions/half_conversion.h"

namespace AscendC::machine::vector {

// Lanes that are converted at a time: a repeat of 16-bit elements.
inline constexpr uint32_t kBatch = 128;

template <class T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>;
template <class T>
using Wide = std::conditional_t<kIsSmallFloat<T>, float, T>;

inline void widen(float* to, const bfloat16_t* from, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) to[i] = static_cast<float>(from[i]);
}

inline constexpr float kLargestHalf = 65504.0f;

// In saturation mode inf becomes the largest number and NaN 0.
inline void narrow(half* to, const float* from, uint32_t count, bool saturates) {
  if (!saturates) {
    narrow_exactly(to, from, count);
    return;
  }
  float limited[kBatch];
  for (uint32_t i = 0; i < count; i++) {
    limited[i] = from[i] != from[i] ? 0.0f : std::clamp(from[i], -kLargestHalf, kLargestHalf);
  }
  narrow_exactly(to, limited, count);
}

// `count` lanes of T at `from`, as numbers: there, or converted into `buffer`.
template <class T>
const Wide<T>* numbers(const void* from, uint64_t start, uint32_t count, Wide<T>* buffer) {
  const T* lanes = static_cast<const T*>(from) + start;
  if constexpr (kIsSmallFloat<T>) {
    widen(buffer, lanes, count);
    return buffer;
  } else {
    return lanes;
  }
}

// Wraps around, as the integer units do.
template <class T>
T wrap(int64_t value) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(value));
}

// The nearest number of T; NaN is 0. Of a whole number.
template <class T>
T saturate(float value) {
  constexpr auto lowest = static_cast<float>(std::numeric_limits<T>::min());
  // One more than the largest: a power of two, and so exact.
  constexpr float beyond = static_cast<float>(std::numeric_limits<T>::max() / 2 + 1) * 2;
  if (value != value) return 0;
  if (value >= beyond) return std::numeric_limits<T>::max();
  return value <= lowest ? std::numeric_limits<T>::min() : static_cast<T>(value);
}

}  // namespace AscendC::machine::vector
