// native/ascendc/kernel/core/numeric_limits.h
// NumericLimits: the extreme values of a number type. The forms that fill a tensor are in vector/.
#pragma once

#include <cstring>
#include <limits>

#include "core/types.h"

namespace AscendC {

namespace machine {

// The limits of types that the standard library does not know, as bits.
struct LimitBits {
  uint16_t max, lowest, min, infinity, negative_infinity, quiet, signaling, denormal;
};
inline constexpr LimitBits kHalfLimits{0x7BFF, 0xFBFF, 0x0400, 0x7C00, 0xFC00, 0x7E00, 0x7D00, 0x0001};
inline constexpr LimitBits kBfloatLimits{0x7F7F, 0xFF7F, 0x0080, 0x7F80, 0xFF80, 0x7FC0, 0x7FA0, 0x0001};

template <class T>
OPWRIGHT_INLINE T from_bits(uint16_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace machine

#define OPWRIGHT_LIMIT(name, standard, field)                     \
  static OPWRIGHT_INLINE constexpr T name() {                     \
    if constexpr (std::is_same_v<T, half>)                        \
      return machine::from_bits<T>(machine::kHalfLimits.field);   \
    else if constexpr (std::is_same_v<T, bfloat16_t>)             \
      return machine::from_bits<T>(machine::kBfloatLimits.field); \
    else                                                          \
      return std::numeric_limits<T>::standard();                  \
  }

template <class T>
struct NumericLimits {
  OPWRIGHT_LIMIT(Max, max, max)
  OPWRIGHT_LIMIT(Lowest, lowest, lowest)
  OPWRIGHT_LIMIT(Min, min, min)
  OPWRIGHT_LIMIT(Infinity, infinity, infinity)
  OPWRIGHT_LIMIT(QuietNaN, quiet_NaN, quiet)
  OPWRIGHT_LIMIT(SignalingNaN, signaling_NaN, signaling)
  OPWRIGHT_LIMIT(DeNormMin, denorm_min, denormal)
  static OPWRIGHT_INLINE T NegativeInfinity() {
    if constexpr (std::is_same_v<T, half>)
      return machine::from_bits<T>(machine::kHalfLimits.negative_infinity);
    else if constexpr (std::is_same_v<T, bfloat16_t>)
      return machine::from_bits<T>(machine::kBfloatLimits.negative_infinity);
    else
      return -std::numeric_limits<T>::infinity();
  }
};
#undef OPWRIGHT_LIMIT

}  // namespace AscendC
