// native/ascendc/functions/elementwise.cpp
#include "advanced/elementwise.h"

#include <cmath>
#include <cstdlib>
#include <numbers>

#include "functions/floats.h"
#include "instructions/functions.h"

namespace AscendC::machine::advanced {
namespace {

using vector::exponential;

float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }

// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2
float gelu(float x) { return x / (1.0f + exponential(-1.5957691216057308f * (x + 0.044715f * x * x * x))); }

// The same with the constants that the documentation gives for GeGLU.
float gated_gelu(float x) { return x / (1.0f + exponential(-0.0713548162726f * x * (22.363860002236f + x * x))); }

// x * sigmoid(1.702 x), in the form that does not overflow.
float faster_gelu(float x) {
  const float size = std::fabs(x);
  return x * exponential(0.851f * (x - size)) / (1.0f + exponential(-1.702f * size));
}

// A parabola instead of the error function: -0.1444 (min(|0.7071 x|, 1.769) - 1.769)^2 + 0.5, with the sign of x.
float faster_gelu_v2(float x) {
  const float edge = std::fmin(std::fabs(0.7071f * x), 1.769f) - 1.769f;
  const float half_wave = -0.1444f * edge * edge + 0.5f;
  return x * ((x > 0.0f ? half_wave : x < 0.0f ? -half_wave : 0.0f) + 0.5f);
}

float sign(float x) { return std::isnan(x) ? x : x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f; }

float digamma(float value) {
  double x = value;
  if (x == 0.0) return std::copysign(std::numeric_limits<float>::infinity(), -value);
  double result = 0.0;
  if (x < 0.0) {
    if (x == std::floor(x)) return std::numeric_limits<float>::quiet_NaN();
    result = -std::numbers::pi / std::tan(std::numbers::pi * x);
    x = 1.0 - x;
  }
  for (; x < 10.0; x += 1.0) result -= 1.0 / x;
  const double y = 1.0 / (x * x);
  const double series = y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132)))));
  return static_cast<float>(result + std::log(x) - 0.5 / x - series);
}

template <class Function>
void map(Run dst, Run src, uint32_t count, Function function) {
  float input[kAtOnce];
  float output[kAtOnce];
  for (uint32_t start = 0; start < count; start += kAtOnce) {
    const uint32_t size = std::min(kAtOnce, count - start);
    const float* from = floats_of(src, start, size, input);
    float* to = space_for(dst, start, output);
    for (uint32_t i = 0; i < size; ++i) to[i] = function(from[i]);
    put_floats(dst, start, size, to);
  }
}

template <class Function>
void map(Run dst, Run src0, Run src1, uint32_t count, Function function) {
  float first[kAtOnce];
  float second[kAtOnce];
  float output[kAtOnce];
  for (uint32_t start = 0; start < count; start += kAtOnce) {
    const uint32_t size = std::min(kAtOnce, count - start);
    const float* a = floats_of(src0, start, size, first);
    const float* b = floats_of(src1, start, size, second);
    float* to = space_for(dst, start, output);
    for (uint32_t i = 0; i < size; ++i) to[i] = function(a[i], b[i]);
    put_floats(dst, start, size, to);
  }
}

int32_t integer_power(int32_t base, int32_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint32_t result = 1;
  auto factor = static_cast<uint32_t>(base);
  for (auto left = static_cast<uint32_t>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<int32_t>(result);
}

bool integers(Run dst, Run src0, Run src1, uint32_t count, Binary function) {
  if (function == Binary::kXor && (dst.number == Number::kInt16 || dst.number == Number::kUint16)) {
    for (uint32_t i = 0; i < count; ++i) {
      static_cast<uint16_t*>(dst.data)[i] = static_cast<uint16_t>(static_cast<const uint16_t*>(src0.data)[i] ^
                                                                  static_cast<const uint16_t*>(src1.data)[i]);
    }
    return true;
  }
  if (function == Binary::kPower && dst.number == Number::kInt32) {
    for (uint32_t i = 0; i < count; ++i) {
      static_cast<int32_t*>(dst.data)[i] =
          integer_power(static_cast<const int32_t*>(src0.data)[i], static_cast<const int32_t*>(src1.data)[i]);
    }
    return true;
  }
  return false;
}

bool integers(Run dst, Run src, uint32_t count, Unary function, float scalar) {
  if (dst.number != Number::kInt32 || (function != Unary::kPowerBy && function != Unary::kPowerOf)) return false;
  const auto fixed = static_cast<int32_t>(scalar);
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t value = static_cast<const int32_t*>(src.data)[i];
    static_cast<int32_t*>(dst.data)[i] =
        function == Unary::kPowerBy ? integer_power(value, fixed) : integer_power(fixed, value);
  }
  return true;
}

}  // namespace

#define OPWRIGHT_CASE(name, expression)                      \
  case Unary::k##name:                                       \
    return map(dst, src, count, [scalar](float x) -> float { \
      static_cast<void>(scalar);                             \
      return expression;                                     \
    });

void compute_unary(Unary function, Run dst, Run src, uint32_t count, float scalar) {
  if (integers(dst, src, count, function, scalar)) return;
  switch (function) {
    OPWRIGHT_CASE(Acos, std::acos(x))
    OPWRIGHT_CASE(Acosh, std::acosh(x))
    OPWRIGHT_CASE(Asin, std::asin(x))
    OPWRIGHT_CASE(Asinh, std::asinh(x))
    OPWRIGHT_CASE(Atan, std::atan(x))
    OPWRIGHT_CASE(Atanh, std::atanh(x))
    OPWRIGHT_CASE(Ceil, std::ceil(x))
    OPWRIGHT_CASE(Cos, std::cos(x))
    OPWRIGHT_CASE(Cosh, std::cosh(x))
    OPWRIGHT_CASE(Digamma, digamma(x))
    OPWRIGHT_CASE(Erf, std::erf(x))
    OPWRIGHT_CASE(Erfc, std::erfc(x))
    OPWRIGHT_CASE(Exp, exponential(x))
    OPWRIGHT_CASE(Floor, std::floor(x))
    OPWRIGHT_CASE(Frac, x - std::trunc(x))
    OPWRIGHT_CASE(Lgamma, std::lgamma(x))
    OPWRIGHT_CASE(Log, vector::logarithm(x))
    OPWRIGHT_CASE(Log2, std::log2(x))
    OPWRIGHT_CASE(Log10, std::log10(x))
    OPWRIGHT_CASE(Round, std::round(x))
    OPWRIGHT_CASE(Sigmoid, sigmoid(x))
    OPWRIGHT_CASE(Sign, sign(x))
    OPWRIGHT_CASE(Sin, std::sin(x))
    OPWRIGHT_CASE(Sinh, std::sinh(x))
    OPWRIGHT_CASE(Tan, std::tan(x))
    OPWRIGHT_CASE(Tanh, std::tanh(x))
    OPWRIGHT_CASE(Trunc, std::trunc(x))
    OPWRIGHT_CASE(Gelu, gelu(x))
    OPWRIGHT_CASE(FasterGelu, faster_gelu(x))
    OPWRIGHT_CASE(FasterGeluV2, faster_gelu_v2(x))
    OPWRIGHT_CASE(Silu, x * sigmoid(x))
    OPWRIGHT_CASE(Swish, x * sigmoid(scalar * x))
    OPWRIGHT_CASE(ClampMax, x > scalar ? scalar : x)
    OPWRIGHT_CASE(ClampMin, x < scalar ? scalar : x)
    OPWRIGHT_CASE(PowerBy, std::pow(x, scalar))
    OPWRIGHT_CASE(PowerOf, std::pow(scalar, x))
    case Unary::kAxpy:
      return map(dst, src, dst, count, [scalar](float x, float old) { return x * scalar + old; });
  }
}
#undef OPWRIGHT_CASE

void compute_binary(Binary function, Run dst, Run src0, Run src1, uint32_t count, float scalar) {
  if (integers(dst, src0, src1, count, function)) return;
  switch (function) {
    case Binary::kPower:
      return map(dst, src0, src1, count, [](float x, float y) { return std::pow(x, y); });
    case Binary::kFmod:
      return map(dst, src0, src1, count, [](float x, float y) { return std::fmod(x, y); });
    case Binary::kGeGLU:
      return map(dst, src0, src1, count, [](float x, float y) { return x * gated_gelu(y); });
    case Binary::kReGlu:
      return map(dst, src0, src1, count, [](float x, float y) { return x * (y > 0.0f ? y : 0.0f); });
    case Binary::kSwiGLU:
      return map(dst, src0, src1, count, [scalar](float x, float y) { return x * y * sigmoid(scalar * y); });
    case Binary::kXor:
      refuse("Xor", "the element type; allowed: int16_t, uint16_t");
  }
}

}  // namespace AscendC::machine::advanced
