// aclnn/opdev/fp16_t.h
// A float16 on the host, for programs that prepare operands: rounded from float32 to the nearest number, halves to
// even.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace op {

struct fp16_t {
  uint16_t val = 0;

  fp16_t() = default;
  template <class Number, class = typename std::enable_if<std::is_arithmetic<Number>::value>::type>
  fp16_t(Number value) : val(rounded(static_cast<float>(value))) {}  // NOLINT: numbers become one where they stand
  operator float() const {                                           // NOLINT: and one becomes a number
    const uint32_t sign = (val & 0x8000U) << 16, exponent = (val >> 10) & 0x1FU, mantissa = val & 0x3FFU;
    if (exponent == 0) {
      const float magnitude = static_cast<float>(mantissa) / 16777216.0F;  // in units of 2^-24
      return sign != 0 ? -magnitude : magnitude;
    }
    return of_bits(sign | (exponent == 0x1F ? 0x7F800000U : (exponent + 112) << 23) | mantissa << 13);
  }

 private:
  static uint32_t bits_of(float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  static float of_bits(uint32_t bits) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  static uint16_t rounded(float value) {
    const uint32_t bits = bits_of(value), sign = (bits >> 16) & 0x8000U, magnitude = bits & 0x7FFFFFFFU;
    if (magnitude >= 0x47800000U) {  // 65536 and more, NaN
      return static_cast<uint16_t>(sign | (magnitude > 0x7F800000U ? 0x7E00U : 0x7C00U));
    }
    if (magnitude < 0x38800000U) {  // below 2^-14: the sum with 0.5 is rounded to a multiple of 2^-24
      return static_cast<uint16_t>(sign | (bits_of(of_bits(magnitude) + 0.5F) - bits_of(0.5F)));
    }
    const uint32_t even = magnitude + 0xFFFU + ((magnitude >> 13) & 1U);
    return static_cast<uint16_t>(sign | ((even - 0x38000000U) >> 13));
  }
};
static_assert(sizeof(fp16_t) == 2, "it is copied to device memory as it is");

}  // namespace op
