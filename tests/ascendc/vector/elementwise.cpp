// tests/ascendc/vector/elementwise.cpp
// Each instruction that computes lane by lane, in each of its call forms, over an image of the unified buffer.
#include "kernel_operator.h"

using namespace AscendC;
using machine::vector::kSupported;
using machine::vector::Operation;

// A test's request; test_elementwise.py has the same fields.
struct Case {
  int32_t operation;
  int32_t type;  // 0 half, 1 float, 2 int16_t, 3 int32_t, 4 uint16_t, 5 uint32_t
  int32_t form;  // 0 count, 1 mask as a number, 2 mask as bits, 3 mask register, 4 counter mode
  int32_t count;
  int32_t repeats;
  int32_t block_strides[3];  // dst, src0, src1
  int32_t repeat_strides[3];
  float scalar;
  uint64_t mask[2];
};

constexpr uint32_t kBytes = 16384;  // of each operand

template <class T>
struct Operands {
  LocalTensor<T> dst;
  LocalTensor<T> src0;
  LocalTensor<T> src1;
};

// Calls `instruction(arguments of the form…)` with the mask that the case has.
template <class T, class Count, class Repeats, class Register>
__aicore__ inline void call(const Case& c, Count count, Repeats repeats, Register from_register) {
  uint64_t mask[2] = {c.mask[0], c.mask[1]};
  switch (c.form) {
    case 0:
      return count(c.count);
    case 1:
      return repeats(c.mask[0]);
    case 2:
      return repeats(mask);
    case 3:
      SetVectorMask<T>(c.mask[1], c.mask[0]);
      from_register();
      return ResetMask();
    default:
      SetMaskCount();
      SetVectorMask<T, MaskMode::COUNTER>(c.count);
      from_register();
      SetMaskNorm();
      ResetMask();
  }
}

#define UNARY(number, Name)                                                          \
  case number:                                                                       \
    if constexpr (kSupported<Operation::k##Name, T, T>) {                            \
      call<T>(                                                                       \
          c, [&](int32_t count) { Name(o.dst, o.src0, count); },                     \
          [&](auto mask) { Name(o.dst, o.src0, mask, repeats, unary); },             \
          [&] { Name<T, false>(o.dst, o.src0, MASK_PLACEHOLDER, repeats, unary); }); \
    }                                                                                \
    break;
#define BINARY(number, Name)                                                                  \
  case number:                                                                                \
    if constexpr (kSupported<Operation::k##Name, T, T>) {                                     \
      call<T>(                                                                                \
          c, [&](int32_t count) { Name(o.dst, o.src0, o.src1, count); },                      \
          [&](auto mask) { Name(o.dst, o.src0, o.src1, mask, repeats, binary); },             \
          [&] { Name<T, false>(o.dst, o.src0, o.src1, MASK_PLACEHOLDER, repeats, binary); }); \
    }                                                                                         \
    break;
#define SCALAR(number, Name)                                                                 \
  case number:                                                                               \
    if constexpr (kSupported<Operation::k##Name, T, T>) {                                    \
      const T scalar = static_cast<T>(c.scalar);                                             \
      call<T>(                                                                               \
          c, [&](int32_t count) { Name(o.dst, o.src0, scalar, count); },                     \
          [&](auto mask) { Name(o.dst, o.src0, scalar, mask, repeats, unary); },             \
          [&] { Name<T, false>(o.dst, o.src0, scalar, MASK_PLACEHOLDER, repeats, unary); }); \
    }                                                                                        \
    break;

template <class T>
__aicore__ inline void compute(const Case& c, Operands<T> o) {
  const auto repeats = static_cast<uint8_t>(c.repeats);
  const UnaryRepeatParams unary(c.block_strides[0], c.block_strides[1], c.repeat_strides[0], c.repeat_strides[1]);
  const BinaryRepeatParams binary(c.block_strides[0], c.block_strides[1], c.block_strides[2], c.repeat_strides[0],
                                  c.repeat_strides[1], c.repeat_strides[2]);
  switch (c.operation) {
    UNARY(0, Abs)
    UNARY(1, Exp)
    UNARY(2, Ln)
    UNARY(3, Sqrt)
    UNARY(4, Rsqrt)
    UNARY(5, Reciprocal)
    UNARY(6, Relu)
    UNARY(7, Not)
    BINARY(10, Add)
    BINARY(11, Sub)
    BINARY(12, Mul)
    BINARY(13, Div)
    BINARY(14, Max)
    BINARY(15, Min)
    BINARY(16, And)
    BINARY(17, Or)
    BINARY(18, AddRelu)
    BINARY(19, SubRelu)
    BINARY(20, FusedMulAdd)
    BINARY(21, MulAddRelu)
    SCALAR(30, Adds)
    SCALAR(31, Muls)
    SCALAR(32, Maxs)
    SCALAR(33, Mins)
    SCALAR(34, LeakyRelu)
    SCALAR(35, ShiftLeft)
    SCALAR(36, ShiftRight)
    case 40:
      if constexpr (kSupported<Operation::kMulAddDst, T, T>) {
        call<T>(
            c, [&](int32_t count) { MulAddDst(o.dst, o.src0, o.src1, count); },
            [&](auto mask) { MulAddDst(o.dst, o.src0, o.src1, mask, repeats, binary); },
            [&] { MulAddDst<T, T, false>(o.dst, o.src0, o.src1, MASK_PLACEHOLDER, repeats, binary); });
      }
      break;
    case 41:
      if constexpr (kSupported<Operation::kAxpy, T, T>) {
        const T scalar = static_cast<T>(c.scalar);
        call<T>(
            c, [&](int32_t count) { Axpy(o.dst, o.src0, scalar, count); },
            [&](auto mask) { Axpy(o.dst, o.src0, scalar, mask, repeats, unary); },
            [&] { Axpy<T, T, false>(o.dst, o.src0, scalar, MASK_PLACEHOLDER, repeats, unary); });
      }
      break;
    case 50:  // rounding shift
      if constexpr (kSupported<Operation::kShiftRight, T, T>) {
        uint64_t mask[2] = {c.mask[0], c.mask[1]};
        ShiftRight(o.dst, o.src0, static_cast<T>(c.scalar), mask, repeats, unary, true);
      }
      break;
    case 51:
      if constexpr (kSupported<Operation::kDiv, T, T>) o.dst = o.src0 / o.src1;
      break;
    case 52:
      if constexpr (kSupported<Operation::kAdd, T, T>) o.dst = o.src0 + o.src1;
      break;
    default:
      break;
  }
}

template <class T>
__aicore__ inline void over_image(GM_ADDR image, const Case& c) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 3 * kBytes);
  GlobalTensor<T> global;
  global.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(image));
  constexpr uint32_t kElements = kBytes / sizeof(T);
  LocalTensor<T> local = buffer.Get<T>();
  DataCopy(local, global, 3 * kElements);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Operands<T> operands{local, local[kElements], local[2 * kElements]};
  operands.dst.SetSize(kElements);
  compute<T>(c, operands);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(global, local, kElements);
}

// `image` holds dst, src0 and src1; dst is written back.
extern "C" __global__ __aicore__ void elementwise(GM_ADDR image, Case c) {
  switch (c.type) {
    case 0:
      return over_image<half>(image, c);
    case 1:
      return over_image<float>(image, c);
    case 2:
      return over_image<int16_t>(image, c);
    case 3:
      return over_image<int32_t>(image, c);
    case 4:
      return over_image<uint16_t>(image, c);
    default:
      return over_image<uint32_t>(image, c);
  }
}
