// native/ascendc/kernel/advanced/elementwise.h
// Functions of the high-level API that work element by element.
#pragma once

#include "advanced/operands.h"

namespace AscendC::machine::advanced {

// One source. The first parameter of some is a scalar.
enum class Unary : uint8_t {
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCos,
  kCosh,
  kDigamma,
  kErf,
  kErfc,
  kExp,
  kFloor,
  kFrac,
  kLgamma,
  kLog,
  kLog2,
  kLog10,
  kRound,
  kSigmoid,
  kSign,
  kSin,
  kSinh,
  kTan,
  kTanh,
  kTrunc,
  kGelu,
  kFasterGelu,
  kFasterGeluV2,
  kSilu,
  kSwish,
  kClampMax,
  kClampMin,
  kPowerOf,
  kPowerBy,
  kAxpy,
};
// Two sources.
enum class Binary : uint8_t { kPower, kFmod, kXor, kGeGLU, kReGlu, kSwiGLU };

OPWRIGHT_RUNTIME void compute_unary(Unary function, Run dst, Run src, uint32_t count, float scalar);
OPWRIGHT_RUNTIME void compute_binary(Binary function, Run dst, Run src0, Run src1, uint32_t count, float scalar);

template <class T>
struct Types {
  static_assert(kIsReal<T>, "the high-level API computes half and float on Atlas A2");
};

template <class T>
OPWRIGHT_INLINE void unary(const char* api, Unary function, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           uint32_t count, float scalar = 0.0f, const LocalTensor<uint8_t>* temporary = nullptr) {
  Call call(api);
  const Run from = call.in("srcTensor", src, count);
  const Run to = call.out("dstTensor", dst, count);
  if (temporary != nullptr) call.temporary(*temporary);
  compute_unary(function, to, from, count, scalar);
}

template <class T>
OPWRIGHT_INLINE void binary(const char* api, Binary function, const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                            const LocalTensor<T>& src1, uint32_t count, float scalar = 0.0f,
                            const LocalTensor<uint8_t>* temporary = nullptr) {
  Call call(api);
  const Run first = call.in("src0Tensor", src0, count);
  const Run second = call.in("src1Tensor", src1, count);
  const Run to = call.out("dstTensor", dst, count);
  if (temporary != nullptr) call.temporary(*temporary);
  compute_binary(function, to, first, second, count, scalar);
}

}  // namespace AscendC::machine::advanced
