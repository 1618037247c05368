// native/runtime/descriptors/data_type.cpp
// Sizes of ACL's data types and the half-precision conversions.
#include "runtime/descriptors/data_type.h"

#include <algorithm>
#include <cmath>

#include "acl/acl_desc.h"

namespace opwright {

size_t bits_of(aclDataType type) noexcept {
  switch (type) {
    case ACL_UINT1:
      return 1;
    case ACL_INT4:
    case ACL_FLOAT4_E2M1:
    case ACL_FLOAT4_E1M2:
      return 4;
    case ACL_FLOAT6_E3M2:
    case ACL_FLOAT6_E2M3:
      return 6;
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
      return 8;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 16;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 32;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64:
      return 64;
    case ACL_COMPLEX128:
      return 128;
    case ACL_STRING:
    case ACL_DT_UNDEFINED:
      break;
  }
  return 0;
}

namespace {

// binary16 has 5 bits of exponent (bias 15) and 10 of fraction.
constexpr int kFractionBits = 10;
constexpr int kSmallestExponent = -14;  // of normal numbers
constexpr int kLargestExponent = 15;
constexpr uint16_t kSign = 0x8000;
constexpr uint16_t kInfinity = 0x7C00;
constexpr uint16_t kQuietNan = 0x7E00;

}  // namespace

float half_to_float(uint16_t half) noexcept {
  const int exponent = (half & kInfinity) >> kFractionBits;
  const int fraction = half & ((1 << kFractionBits) - 1);
  float magnitude = 0;
  if (exponent == 0x1F) {
    magnitude = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), kSmallestExponent - kFractionBits);
  } else {
    const int significand = fraction | (1 << kFractionBits);
    magnitude = std::ldexp(static_cast<float>(significand), exponent - kLargestExponent - kFractionBits);
  }
  return std::copysign(magnitude, (half & kSign) != 0 ? -1.0f : 1.0f);
}

uint16_t float_to_half(float value) noexcept {
  const uint16_t sign = std::signbit(value) ? kSign : 0;
  if (std::isnan(value)) return sign | kQuietNan;
  if (std::isinf(value)) return sign | kInfinity;
  if (value == 0) return sign;
  // The distance of neighbouring halves around the value; scaled by it, rounding to an integer is rounding to a half.
  int exponent = 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  std::frexp(magnitude, &exponent);  // magnitude is in [2^(exponent-1), 2^exponent)
  const int unit = std::max(exponent - 1, kSmallestExponent) - kFractionBits;
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -unit)));
  // With the unit's exponent above the fraction, a carry out of the fraction lands in the exponent where it belongs.
  const int bits = ((unit + kFractionBits - kSmallestExponent) << kFractionBits) + steps;
  return sign | static_cast<uint16_t>(std::min<int>(bits, kInfinity));
}

}  // namespace opwright

// Types of less than a byte have no size in bytes; CANN answers 0 for them as for unknown ones.
size_t aclDataTypeSize(aclDataType dataType) {
  const size_t bits = opwright::bits_of(dataType);
  return bits % 8 == 0 ? bits / 8 : 0;
}

float aclFloat16ToFloat(aclFloat16 value) { return opwright::half_to_float(value); }

aclFloat16 aclFloatToFloat16(float value) { return opwright::float_to_half(value); }
