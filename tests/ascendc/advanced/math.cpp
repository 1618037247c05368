// Kernels of test_math.py: one for each function, over half and float.
#include "functions.h"

namespace {

template <class T>
__aicore__ inline void run_unary(GM_ADDR x, GM_ADDR y, uint32_t count, uint32_t which) {
  using namespace AscendC;
  Bench bench;
  const LocalTensor<T> in = bench.load<T>(x, count);
  const LocalTensor<T> out = bench.space<T>(count);
  const LocalTensor<uint8_t> space = bench.space<uint8_t>(1024);
  const T limit = static_cast<T>(0.25f);
  switch (which) {
    case 0:
      Acos(out, in, count);
      break;
    case 1:
      Acosh(out, in, space, count);
      break;
    case 2:
      Asin(out, in, space);
      break;
    case 3:
      Asinh(out, in);
      break;
    case 4:
      Atan(out, in, count);
      break;
    case 5:
      Atanh(out, in, count);
      break;
    case 6:
      Ceil(out, in, count);
      break;
    case 7:
      Cos(out, in, count);
      break;
    case 8:
      Cosh(out, in, count);
      break;
    case 9:
      Digamma(out, in, count);
      break;
    case 10:
      Erf<T, false>(out, in, count);
      break;
    case 11:
      Erfc(out, in, count);
      break;
    case 12:
      Exp<T, 15>(out, in, count);
      break;
    case 13:
      Floor(out, in, space, count);
      break;
    case 14:
      Frac(out, in, count);
      break;
    case 15:
      Lgamma(out, in, count);
      break;
    case 16:
      Log(out, in, count);
      break;
    case 17:
      Log2(out, in, count);
      break;
    case 18:
      Log10(out, in, count);
      break;
    case 19:
      Round(out, in, count);
      break;
    case 20:
      Sigmoid(out, in, space, count);
      break;
    case 21:
      Sign(out, in, count);
      break;
    case 22:
      Sin(out, in, count);
      break;
    case 23:
      Sinh(out, in, count);
      break;
    case 24:
      Tan(out, in, count);
      break;
    case 25:
      Tanh(out, in, count);
      break;
    case 26:
      Trunc(out, in, count);
      break;
    case 27:
      Gelu(out, in, count);
      break;
    case 28:
      FasterGelu(out, in, count);
      break;
    case 29:
      FasterGeluV2(out, in, space, count);
      break;
    case 30:
      Silu(out, in, count);
      break;
    case 31:
      Swish(out, in, count, limit);
      break;
    case 32:
      ClampMax(out, in, limit, count);
      break;
    case 33:
      ClampMin(out, in, space, limit, count);
      break;
    case 34:
      Power(out, in, limit, count);
      break;
    case 35:
      Power(out, limit, in);
      break;
    default:
      break;
  }
  bench.store(y, out, count);
}

template <class T>
__aicore__ inline void run_binary(GM_ADDR a, GM_ADDR b, GM_ADDR y, uint32_t count, uint32_t which, float scalar) {
  using namespace AscendC;
  Bench bench;
  const LocalTensor<T> first = bench.load<T>(a, count);
  const LocalTensor<T> second = bench.load<T>(b, count);
  const LocalTensor<T> out = bench.space<T>(count);
  switch (which) {
    case 0:
      Power(out, first, second, count);
      break;
    case 1:
      Fmod(out, first, second, count);
      break;
    case 2:
      GeGLU(out, first, second, count);
      break;
    case 3:
      ReGlu(out, first, second, count);
      break;
    case 4:
      SwiGLU(out, first, second, scalar, count);
      break;
    default:
      break;
  }
  bench.store(y, out, count);
}

}  // namespace

extern "C" __global__ __aicore__ void unary(GM_ADDR x, GM_ADDR y, uint32_t count, uint32_t which, uint32_t is_half) {
  is_half != 0 ? run_unary<half>(x, y, count, which) : run_unary<float>(x, y, count, which);
}
extern "C" __global__ __aicore__ void binary(GM_ADDR a, GM_ADDR b, GM_ADDR y, uint32_t count, uint32_t which,
                                             uint32_t is_half, float scalar) {
  is_half != 0 ? run_binary<half>(a, b, y, count, which, scalar) : run_binary<float>(a, b, y, count, which, scalar);
}
extern "C" __global__ __aicore__ void exclusive_or(GM_ADDR a, GM_ADDR b, GM_ADDR y, uint32_t count) {
  Bench bench;
  const auto first = bench.load<int16_t>(a, count);
  const auto second = bench.load<int16_t>(b, count);
  const auto out = bench.space<int16_t>(count);
  AscendC::Xor(out, first, second, count);
  bench.store(y, out, count);
}
