// native/ascendc/instructions/rounding.h
// The rounding modes of Cast: to whole numbers, and to the precision of a smaller number type.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/types.h"
#include "instructions/half_conversion.h"
#include "vector/params.h"

namespace AscendC::machine::vector {

// A mode as a type, so that each loop is compiled for its mode.
template <RoundMode mode>
struct Rounding {
  static constexpr RoundMode kMode = mode;
};

template <class Body>
void with_rounding(RoundMode mode, Body body) {
  switch (mode) {
    case RoundMode::CAST_FLOOR:
      return body(Rounding<RoundMode::CAST_FLOOR>{});
    case RoundMode::CAST_CEIL:
      return body(Rounding<RoundMode::CAST_CEIL>{});
    case RoundMode::CAST_ROUND:
      return body(Rounding<RoundMode::CAST_ROUND>{});
    case RoundMode::CAST_TRUNC:
      return body(Rounding<RoundMode::CAST_TRUNC>{});
    case RoundMode::CAST_ODD:
      return body(Rounding<RoundMode::CAST_ODD>{});
    default:
      return body(Rounding<RoundMode::CAST_RINT>{});
  }
}

template <RoundMode mode>
float to_whole(float value) {
  if constexpr (mode == RoundMode::CAST_FLOOR) return std::floor(value);
  if constexpr (mode == RoundMode::CAST_CEIL) return std::ceil(value);
  if constexpr (mode == RoundMode::CAST_TRUNC) return std::trunc(value);
  if constexpr (mode == RoundMode::CAST_ROUND) {
    // The largest number below a half: adding a half would round up what lies just below it.
    return std::trunc(value + std::copysign(0.49999997f, value));
  }
  return std::nearbyint(value);
}

// Whether a magnitude that lost `rest` of `unit` below its last bit becomes one larger.
template <RoundMode mode, class Number>
bool rounds_away(Number rest, Number unit, bool odd, bool negative) {
  const Number middle = unit / 2;
  if constexpr (mode == RoundMode::CAST_FLOOR) return negative && rest != 0;
  if constexpr (mode == RoundMode::CAST_CEIL) return !negative && rest != 0;
  if constexpr (mode == RoundMode::CAST_TRUNC) return false;
  if constexpr (mode == RoundMode::CAST_ROUND) return rest >= middle;
  if constexpr (mode == RoundMode::CAST_ODD) return rest != 0 && !odd;
  return rest > middle || (rest == middle && odd);
}

// An integer as a float whose significand has `precision` bits.
template <RoundMode mode>
float to_precision(int64_t value, int precision) {
  const bool negative = value < 0;
  uint64_t magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const int excess = 64 - std::countl_zero(magnitude) - precision;
  if (excess > 0) {
    const uint64_t unit = uint64_t{1} << excess;
    const uint64_t rest = magnitude & (unit - 1);
    magnitude -= rest;
    if (rounds_away<mode>(rest, unit, (magnitude & unit) != 0, negative)) magnitude += unit;
  }
  const auto result = static_cast<float>(magnitude);
  return negative ? -result : result;
}

template <RoundMode mode>
bfloat16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  bfloat16_t result;
  if (value != value) {
    result.bits = static_cast<uint16_t>(bits >> 16 | 0x40u);
    return result;
  }
  constexpr uint32_t unit = 1u << 16;
  const bool away = rounds_away<mode>(bits & (unit - 1), unit, (bits & unit) != 0, (bits >> 31) != 0);
  result.bits = static_cast<uint16_t>((bits >> 16) + away);
  return result;
}

// Toward zero, then away from it where the mode asks for that. Beyond the largest number lies inf.
template <RoundMode mode>
half to_half(float value) {
  const uint16_t cut = cut_to_half(value);
  const float kept = float_of(cut);
  if (value != value || std::isinf(value) || kept == value) return std::bit_cast<half>(cut);
  // The unit of the last place, and what was cut off: both exact in float.
  const uint16_t magnitude = cut & 0x7FFFu;
  const float unit = magnitude == 0x7BFF ? 32.0f : float_of(static_cast<uint16_t>(magnitude + 1)) - float_of(magnitude);
  const float rest = std::fabs(value) - std::fabs(kept);
  const bool away = rounds_away<mode>(rest, unit, (cut & 1) != 0, std::signbit(value));
  return std::bit_cast<half>(static_cast<uint16_t>(cut + away));
}

}  // namespace AscendC::machine::vector
