// native/ascendc/kernel/advanced/math.h
// Mathematical functions of the high-level API in their call forms: with and without temporary space, of `calCount`
// elements or of the whole source.
#pragma once

#include "advanced/elementwise.h"

namespace AscendC {

// Which algorithm computes: here all give the correctly rounded or nearly so result.
enum class SinAlgo { POLYNOMIAL_APPROXIMATION = 0, RADIAN_REDUCTION = 1 };
enum class CosAlgo { POLYNOMIAL_APPROXIMATION = 0, RADIAN_REDUCTION = 1 };
enum class TanhAlgo { INTRINSIC = 0, COMPENSATION = 1 };
enum class ErfAlgo { PADE_APPROXIMATION = 0, SUBSECTION_POLYNOMIAL_APPROXIMATION = 1 };
enum class AtanAlgo { TAYLOR_EXPANSION = 0, POLYNOMIAL_APPROXIMATION = 1 };
enum class PowerAlgo { INTRINSIC = 0, DOUBLE_FLOAT_TECH = 1 };
enum class FmodAlgo { NORMAL = 0, ITERATION_COMPENSATION = 1 };
constexpr uint32_t FMOD_ITERATION_NUM_MAX = 11;
struct SinConfig {
  SinAlgo algo = SinAlgo::POLYNOMIAL_APPROXIMATION;
};
struct CosConfig {
  CosAlgo algo = CosAlgo::POLYNOMIAL_APPROXIMATION;
};
struct TanhConfig {
  TanhAlgo algo = TanhAlgo::INTRINSIC;
};
struct ErfConfig {
  ErfAlgo algo = ErfAlgo::PADE_APPROXIMATION;
};
struct AtanConfig {
  AtanAlgo algo = AtanAlgo::TAYLOR_EXPANSION;
};
struct PowerConfig {
  PowerAlgo algo = PowerAlgo::INTRINSIC;
};
struct FmodConfig {
  FmodAlgo algo = FmodAlgo::NORMAL;
  uint32_t iterationNum = FMOD_ITERATION_NUM_MAX;
};
inline constexpr SinConfig defaultSinConfig{};
inline constexpr CosConfig defaultCosConfig{};
inline constexpr TanhConfig DEFAULT_TANH_CONFIG{};
inline constexpr ErfConfig defaultErfConfig{};
inline constexpr AtanConfig defaultAtanConfig{};
inline constexpr PowerConfig defaultPowerConfig{};
inline constexpr FmodConfig DEFAULT_FMOD_CONFIG{};
inline constexpr int kNoConfig = 0;

#define OPWRIGHT_UNARY_FUNCTION(name)                                                                        \
  template <typename T, bool isReuseSource = false, const auto& config = kNoConfig>                          \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,                \
                            const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount) {          \
    [[maybe_unused]] machine::advanced::Types<PrimT<T>> types;                                               \
    machine::advanced::unary(#name, machine::advanced::Unary::k##name, dstTensor, srcTensor, calCount, 0.0f, \
                             &sharedTmpBuffer);                                                              \
  }                                                                                                          \
  template <typename T, bool isReuseSource = false, const auto& config = kNoConfig>                          \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,                \
                            const LocalTensor<uint8_t>& sharedTmpBuffer) {                                   \
    name<T, isReuseSource>(dstTensor, srcTensor, sharedTmpBuffer, srcTensor.GetSize());                      \
  }                                                                                                          \
  template <typename T, bool isReuseSource = false, const auto& config = kNoConfig>                          \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,                \
                            const uint32_t calCount) {                                                       \
    [[maybe_unused]] machine::advanced::Types<PrimT<T>> types;                                               \
    machine::advanced::unary(#name, machine::advanced::Unary::k##name, dstTensor, srcTensor, calCount);      \
  }                                                                                                          \
  template <typename T, bool isReuseSource = false, const auto& config = kNoConfig>                          \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor) {              \
    name<T, isReuseSource>(dstTensor, srcTensor, srcTensor.GetSize());                                       \
  }

OPWRIGHT_UNARY_FUNCTION(Acos)
OPWRIGHT_UNARY_FUNCTION(Acosh)
OPWRIGHT_UNARY_FUNCTION(Asin)
OPWRIGHT_UNARY_FUNCTION(Asinh)
OPWRIGHT_UNARY_FUNCTION(Atan)
OPWRIGHT_UNARY_FUNCTION(Atanh)
OPWRIGHT_UNARY_FUNCTION(Ceil)
OPWRIGHT_UNARY_FUNCTION(Cos)
OPWRIGHT_UNARY_FUNCTION(Cosh)
OPWRIGHT_UNARY_FUNCTION(Digamma)
OPWRIGHT_UNARY_FUNCTION(Erf)
OPWRIGHT_UNARY_FUNCTION(Erfc)
OPWRIGHT_UNARY_FUNCTION(Floor)
OPWRIGHT_UNARY_FUNCTION(Frac)
OPWRIGHT_UNARY_FUNCTION(Lgamma)
OPWRIGHT_UNARY_FUNCTION(Log)
OPWRIGHT_UNARY_FUNCTION(Log2)
OPWRIGHT_UNARY_FUNCTION(Log10)
OPWRIGHT_UNARY_FUNCTION(Round)
OPWRIGHT_UNARY_FUNCTION(Sign)
OPWRIGHT_UNARY_FUNCTION(Sin)
OPWRIGHT_UNARY_FUNCTION(Sinh)
OPWRIGHT_UNARY_FUNCTION(Tan)
OPWRIGHT_UNARY_FUNCTION(Tanh)
OPWRIGHT_UNARY_FUNCTION(Trunc)
OPWRIGHT_UNARY_FUNCTION(Sigmoid)

// Exp of the high-level API names how many terms of a Taylor series it takes.
template <typename T, uint8_t taylorExpandLevel, bool isReuseSource = false>
OPWRIGHT_INLINE void Exp(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                         const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount) {
  machine::advanced::unary("Exp", machine::advanced::Unary::kExp, dstLocal, srcLocal, calCount, 0.0f, &sharedTmpBuffer);
}
template <typename T, uint8_t taylorExpandLevel, bool isReuseSource = false>
OPWRIGHT_INLINE void Exp(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t calCount) {
  machine::advanced::unary("Exp", machine::advanced::Unary::kExp, dstLocal, srcLocal, calCount);
}

#define OPWRIGHT_CLAMP_FUNCTION(name)                                                                               \
  template <typename T, bool isReuseSource = false>                                                                 \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,                       \
                            const LocalTensor<uint8_t>& sharedTmpBuffer, const T scalar, const uint32_t calCount) { \
    machine::advanced::unary(#name, machine::advanced::Unary::k##name, dstTensor, srcTensor, calCount,              \
                             static_cast<float>(scalar), &sharedTmpBuffer);                                         \
  }                                                                                                                 \
  template <typename T, bool isReuseSource = false>                                                                 \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const T scalar,       \
                            const uint32_t calCount) {                                                              \
    machine::advanced::unary(#name, machine::advanced::Unary::k##name, dstTensor, srcTensor, calCount,              \
                             static_cast<float>(scalar));                                                           \
  }
OPWRIGHT_CLAMP_FUNCTION(ClampMax)
OPWRIGHT_CLAMP_FUNCTION(ClampMin)

#define OPWRIGHT_BINARY_FUNCTION(name)                                                                                 \
  template <typename T, bool isReuseSource = false, const auto& config = kNoConfig>                                    \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor,                         \
                            const LocalTensor<T>& src1Tensor, const LocalTensor<uint8_t>& sharedTmpBuffer,             \
                            const uint32_t calCount) {                                                                 \
    machine::advanced::binary(#name, machine::advanced::Binary::k##name, dstTensor, src0Tensor, src1Tensor, calCount,  \
                              0.0f, &sharedTmpBuffer);                                                                 \
  }                                                                                                                    \
  template <typename T, bool isReuseSource = false, const auto& config = kNoConfig>                                    \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor,                         \
                            const LocalTensor<T>& src1Tensor, const LocalTensor<uint8_t>& sharedTmpBuffer) {           \
    name<T, isReuseSource>(dstTensor, src0Tensor, src1Tensor, sharedTmpBuffer, src0Tensor.GetSize());                  \
  }                                                                                                                    \
  template <typename T, bool isReuseSource = false, const auto& config = kNoConfig>                                    \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor,                         \
                            const LocalTensor<T>& src1Tensor, const uint32_t calCount) {                               \
    machine::advanced::binary(#name, machine::advanced::Binary::k##name, dstTensor, src0Tensor, src1Tensor, calCount); \
  }                                                                                                                    \
  template <typename T, bool isReuseSource = false, const auto& config = kNoConfig>                                    \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor,                         \
                            const LocalTensor<T>& src1Tensor) {                                                        \
    name<T, isReuseSource>(dstTensor, src0Tensor, src1Tensor, src0Tensor.GetSize());                                   \
  }
OPWRIGHT_BINARY_FUNCTION(Power)
OPWRIGHT_BINARY_FUNCTION(Fmod)
OPWRIGHT_BINARY_FUNCTION(Xor)
OPWRIGHT_BINARY_FUNCTION(GeGLU)
OPWRIGHT_BINARY_FUNCTION(ReGlu)

// Power with a scalar exponent (PowerBy), and with a scalar base (PowerOf).
#define OPWRIGHT_POWER_FORMS(function, parameters, tensor, scalar)                                                     \
  template <typename T, bool isReuseSource = false, const auto& config = kNoConfig>                                    \
  OPWRIGHT_INLINE void Power(const LocalTensor<T>& dstTensor, parameters, const LocalTensor<uint8_t>& sharedTmpBuffer, \
                             uint32_t calCount) {                                                                      \
    machine::advanced::unary("Power", machine::advanced::Unary::function, dstTensor, tensor, calCount,                 \
                             static_cast<float>(scalar), &sharedTmpBuffer);                                            \
  }                                                                                                                    \
  template <typename T, bool isReuseSource = false, const auto& config = kNoConfig>                                    \
  OPWRIGHT_INLINE void Power(const LocalTensor<T>& dstTensor, parameters,                                              \
                             const LocalTensor<uint8_t>& sharedTmpBuffer) {                                            \
    machine::advanced::unary("Power", machine::advanced::Unary::function, dstTensor, tensor, tensor.GetSize(),         \
                             static_cast<float>(scalar), &sharedTmpBuffer);                                            \
  }                                                                                                                    \
  template <typename T, bool isReuseSource = false, const auto& config = kNoConfig>                                    \
  OPWRIGHT_INLINE void Power(const LocalTensor<T>& dstTensor, parameters, uint32_t calCount) {                         \
    machine::advanced::unary("Power", machine::advanced::Unary::function, dstTensor, tensor, calCount,                 \
                             static_cast<float>(scalar));                                                              \
  }                                                                                                                    \
  template <typename T, bool isReuseSource = false, const auto& config = kNoConfig>                                    \
  OPWRIGHT_INLINE void Power(const LocalTensor<T>& dstTensor, parameters) {                                            \
    machine::advanced::unary("Power", machine::advanced::Unary::function, dstTensor, tensor, tensor.GetSize(),         \
                             static_cast<float>(scalar));                                                              \
  }
#define OPWRIGHT_COMMA ,
OPWRIGHT_POWER_FORMS(kPowerBy, const LocalTensor<T>& src0Tensor OPWRIGHT_COMMA const T& src1Scalar, src0Tensor,
                     src1Scalar)
OPWRIGHT_POWER_FORMS(kPowerOf, const T& src0Scalar OPWRIGHT_COMMA const LocalTensor<T>& src1Tensor, src1Tensor,
                     src0Scalar)
#undef OPWRIGHT_COMMA
#undef OPWRIGHT_POWER_FORMS
#undef OPWRIGHT_UNARY_FUNCTION
#undef OPWRIGHT_BINARY_FUNCTION
#undef OPWRIGHT_CLAMP_FUNCTION

// dst = src * scalar + dst; the scalar has the source's type.
template <typename T, typename U, bool isReuseSource = false>
OPWRIGHT_INLINE void Axpy(const LocalTensor<T>& dstTensor, const LocalTensor<U>& srcTensor, const U scalarValue,
                          const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount) {
  machine::advanced::Call call("Axpy");
  const machine::advanced::Run from = call.in("srcTensor", srcTensor, calCount);
  call.in("dstTensor", dstTensor, calCount);
  const machine::advanced::Run to = call.out("dstTensor", dstTensor, calCount);
  call.temporary(sharedTmpBuffer);
  machine::advanced::compute_unary(machine::advanced::Unary::kAxpy, to, from, calCount,
                                   static_cast<float>(scalarValue));
}

}  // namespace AscendC
