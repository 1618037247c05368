// native/ascendc/instructions/functions.h
// exp and ln of float lanes, to within one unit in the last place, in a form that compilers vectorise: the work is done
// in double precision, so that the one rounding to float is all that is lost.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace AscendC::machine::vector {

// exp(x) = 2^k * exp(r), |r| <= ln(2) / 2, by the Taylor series to r^9 (error below 2^-33).
inline float exponential(float x) {
  const double limited = x > 104.0f ? 104.0 : x < -104.0f ? -104.0 : static_cast<double>(x);
  // Adding 1.5 * 2^52 leaves the nearest whole number in the low bits.
  constexpr double kShifter = 6755399441055744.0;
  const double shifted = limited * 1.4426950408889634 + kShifter;
  const double k = shifted - kShifter;
  const double r = limited - k * 0.6931471805599453;
  double sum = 1.0 / 362880;
  sum = sum * r + 1.0 / 40320;
  sum = sum * r + 1.0 / 5040;
  sum = sum * r + 1.0 / 720;
  sum = sum * r + 1.0 / 120;
  sum = sum * r + 1.0 / 24;
  sum = sum * r + 1.0 / 6;
  sum = sum * r + 0.5;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  const uint64_t bits = std::bit_cast<uint64_t>(sum) + (std::bit_cast<uint64_t>(shifted) << 52);
  const auto result = static_cast<float>(std::bit_cast<double>(bits));
  return x != x ? x : result;
}

// ln(x) = e * ln(2) + 2 * atanh((m - 1) / (m + 1)), sqrt(1/2) <= m < sqrt(2).
inline float logarithm(float x) {
  const auto bits = std::bit_cast<uint64_t>(static_cast<double>(x));
  constexpr uint64_t kHalfRoot = 0x3FE6A09E667F3BCD;  // sqrt(1/2)
  const uint64_t offset = bits - kHalfRoot;
  const auto exponent = static_cast<int32_t>(static_cast<int64_t>(offset) >> 52);
  const double m = std::bit_cast<double>(bits - (offset & 0xFFF0000000000000));
  const double s = (m - 1.0) / (m + 1.0);
  const double q = s * s;
  double sum = 2.0 / 15;
  sum = sum * q + 2.0 / 13;
  sum = sum * q + 2.0 / 11;
  sum = sum * q + 2.0 / 9;
  sum = sum * q + 2.0 / 7;
  sum = sum * q + 2.0 / 5;
  sum = sum * q + 2.0 / 3;
  sum = sum * q + 2.0;
  const auto result = static_cast<float>(exponent * 0.6931471805599453 + s * sum);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (x > 0.0f && x < kInfinity) return result;
  if (x == 0.0f) return -kInfinity;
  return x == kInfinity ? x : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace AscendC::machine::vector
