// native/ascendc/kernel/vector/elementwise.h
// Instructions that compute lane by lane: one source, two sources, a source and a scalar. Each has a form for the first
// `count` elements and two with repeats, by a mask of bits or of a number of lanes.
#pragma once

#include "vector/operations.h"

namespace AscendC {
namespace machine::vector {

template <class T>
inline constexpr bool kTwoMaskWords = sizeof(T) <= 2;

template <Operation operation, class D, class S>
OPWRIGHT_INLINE void unary(const char* api, const LocalTensor<D>& dst, const LocalTensor<S>& src, const Lanes& lanes,
                           const UnaryRepeatParams& strides, const Arguments& arguments = {}) {
  const Operand to = operand("dst", dst, strides.dstBlkStride, strides.dstRepStride);
  const Operand from = operand("src", src, strides.srcBlkStride, strides.srcRepStride);
  if constexpr (accumulates(operation)) {
    issue<operation, PrimT<D>, PrimT<S>>(api, to, {from, to}, lanes, arguments);
  } else {
    issue<operation, PrimT<D>, PrimT<S>>(api, to, {from}, lanes, arguments);
  }
}

template <Operation operation, class D, class S>
OPWRIGHT_INLINE void binary(const char* api, const LocalTensor<D>& dst, const LocalTensor<S>& src0,
                            const LocalTensor<S>& src1, const Lanes& lanes, const BinaryRepeatParams& strides,
                            const Arguments& arguments = {}) {
  const Operand to = operand("dst", dst, strides.dstBlkStride, strides.dstRepStride);
  const Operand first = operand("src0", src0, strides.src0BlkStride, strides.src0RepStride);
  const Operand second = operand("src1", src1, strides.src1BlkStride, strides.src1RepStride);
  if constexpr (accumulates(operation)) {
    issue<operation, PrimT<D>, PrimT<S>>(api, to, {first, second, to}, lanes, arguments);
  } else {
    issue<operation, PrimT<D>, PrimT<S>>(api, to, {first, second}, lanes, arguments);
  }
}

// And and Or of 32-bit elements exist only for contiguous data and count halves of elements, as on the device.
template <Operation operation, class T>
OPWRIGHT_INLINE void bitwise(const char* api, const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                             const LocalTensor<T>& src1, uint64_t count) {
  if constexpr (sizeof(PrimT<T>) == 4) {
    bitwise<operation>(api, dst.template ReinterpretCast<uint16_t>(), src0.template ReinterpretCast<uint16_t>(),
                       src1.template ReinterpretCast<uint16_t>(), count);
  } else {
    binary<operation>(api, dst, src0, src1, Lanes::all(count), {});
  }
}

template <class T, class U>
using SameAsElement = std::enable_if_t<std::is_same_v<PrimT<T>, U>, bool>;

}  // namespace machine::vector

// ---- one source

#define OPWRIGHT_UNARY(Name)                                                                                       \
  template <class T>                                                                                               \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count) {          \
    using namespace machine::vector;                                                                               \
    unary<Operation::k##Name>(#Name, dst, src, Lanes::all(static_cast<uint32_t>(count)), {});                      \
  }                                                                                                                \
  template <class T, bool isSetMask = true>                                                                        \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[],                 \
                            const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {                     \
    using namespace machine::vector;                                                                               \
    unary<Operation::k##Name>(#Name, dst, src, Lanes::given(isSetMask, mask, repeatTime, kTwoMaskWords<PrimT<T>>), \
                              repeatParams);                                                                       \
  }                                                                                                                \
  template <class T, bool isSetMask = true>                                                                        \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask,                   \
                            const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {                     \
    using namespace machine::vector;                                                                               \
    unary<Operation::k##Name>(#Name, dst, src, Lanes::given(isSetMask, mask, repeatTime), repeatParams);           \
  }

OPWRIGHT_UNARY(Abs)
OPWRIGHT_UNARY(Exp)
OPWRIGHT_UNARY(Ln)
OPWRIGHT_UNARY(Sqrt)
OPWRIGHT_UNARY(Rsqrt)
OPWRIGHT_UNARY(Reciprocal)
OPWRIGHT_UNARY(Relu)
OPWRIGHT_UNARY(Not)
#undef OPWRIGHT_UNARY

// ---- two sources

#define OPWRIGHT_BINARY_REPEATS(Name)                                                                             \
  template <class T, bool isSetMask = true>                                                                       \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,    \
                            uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& repeatParams) {  \
    using namespace machine::vector;                                                                              \
    binary<Operation::k##Name>(#Name, dst, src0, src1,                                                            \
                               Lanes::given(isSetMask, mask, repeatTime, kTwoMaskWords<PrimT<T>>), repeatParams); \
  }                                                                                                               \
  template <class T, bool isSetMask = true>                                                                       \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,    \
                            uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& repeatParams) {    \
    using namespace machine::vector;                                                                              \
    binary<Operation::k##Name>(#Name, dst, src0, src1, Lanes::given(isSetMask, mask, repeatTime), repeatParams);  \
  }

#define OPWRIGHT_BINARY(Name)                                                                                  \
  template <class T>                                                                                           \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, \
                            const int32_t& count) {                                                            \
    using namespace machine::vector;                                                                           \
    binary<Operation::k##Name>(#Name, dst, src0, src1, Lanes::all(static_cast<uint32_t>(count)), {});          \
  }                                                                                                            \
  OPWRIGHT_BINARY_REPEATS(Name)

OPWRIGHT_BINARY(Add)
OPWRIGHT_BINARY(Sub)
OPWRIGHT_BINARY(Mul)
OPWRIGHT_BINARY(Div)
OPWRIGHT_BINARY(Max)
OPWRIGHT_BINARY(Min)
OPWRIGHT_BINARY(AddRelu)
OPWRIGHT_BINARY(SubRelu)
OPWRIGHT_BINARY(FusedMulAdd)
OPWRIGHT_BINARY(MulAddRelu)
OPWRIGHT_BINARY_REPEATS(And)
OPWRIGHT_BINARY_REPEATS(Or)
#undef OPWRIGHT_BINARY
#undef OPWRIGHT_BINARY_REPEATS

template <class T>
OPWRIGHT_INLINE void And(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                         const int32_t& count) {
  machine::vector::bitwise<machine::vector::Operation::kAnd>("And", dst, src0, src1, static_cast<uint32_t>(count));
}
template <class T>
OPWRIGHT_INLINE void Or(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                        const int32_t& count) {
  machine::vector::bitwise<machine::vector::Operation::kOr>("Or", dst, src0, src1, static_cast<uint32_t>(count));
}

// The name that MulAddRelu had before.
template <class T, bool isSetMask = true, class... Rest>
OPWRIGHT_INLINE void FusedMulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                                     Rest&&... rest) {
  if constexpr (sizeof...(Rest) == 1) {
    MulAddRelu<T>(dst, src0, src1, rest...);
  } else {
    MulAddRelu<T, isSetMask>(dst, src0, src1, rest...);
  }
}

// Two sources, and a destination of another type. A bit of the mask is a lane of the wider type.
#define OPWRIGHT_BINARY_TYPES(Name, arguments)                                                                         \
  template <class T, class U>                                                                                          \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,         \
                            const uint32_t count) {                                                                    \
    using namespace machine::vector;                                                                                   \
    binary<Operation::k##Name>(#Name, dst, src0, src1, Lanes::all(count), {}, arguments);                              \
  }                                                                                                                    \
  template <class T, class U, bool isSetMask = true>                                                                   \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,         \
                            const uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& repeatParams) { \
    using namespace machine::vector;                                                                                   \
    constexpr bool two = kTwoMaskWords<PrimT<T>> && kTwoMaskWords<PrimT<U>>;                                           \
    binary<Operation::k##Name>(#Name, dst, src0, src1, Lanes::given(isSetMask, mask, repeatTime, two), repeatParams,   \
                               arguments);                                                                             \
  }                                                                                                                    \
  template <class T, class U, bool isSetMask = true>                                                                   \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,         \
                            uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& repeatParams) {         \
    using namespace machine::vector;                                                                                   \
    binary<Operation::k##Name>(#Name, dst, src0, src1, Lanes::given(isSetMask, mask, repeatTime), repeatParams,        \
                               arguments);                                                                             \
  }

OPWRIGHT_BINARY_TYPES(MulAddDst, {})
OPWRIGHT_BINARY_TYPES(AddReluCast, {})
OPWRIGHT_BINARY_TYPES(SubReluCast, {})
OPWRIGHT_BINARY_TYPES(MulCast, {})
OPWRIGHT_BINARY_TYPES(AddDeqRelu, {})
#undef OPWRIGHT_BINARY_TYPES

// AddDeqRelu<isSetMask>(…): without types.
template <bool isSetMask>
OPWRIGHT_INLINE void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                                const LocalTensor<int32_t>& src1, uint64_t mask[], const uint8_t repeatTime,
                                const BinaryRepeatParams& repeatParams) {
  AddDeqRelu<half, int32_t, isSetMask>(dst, src0, src1, mask, repeatTime, repeatParams);
}
template <bool isSetMask>
OPWRIGHT_INLINE void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                                const LocalTensor<int32_t>& src1, uint64_t mask, const uint8_t repeatTime,
                                const BinaryRepeatParams& repeatParams) {
  AddDeqRelu<half, int32_t, isSetMask>(dst, src0, src1, mask, repeatTime, repeatParams);
}

// ---- a source and a scalar

// `Type` is T in the first set of forms; in the second it is deduced and must be the tensor's element type.
#define OPWRIGHT_SCALAR_FORMS(Name, Type, Extra, ...)                                                              \
  template <__VA_ARGS__>                                                                                           \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Type& scalarValue,         \
                            const int32_t& count) {                                                                \
    using namespace machine::vector;                                                                               \
    const Lanes lanes = isSetMask ? Lanes::all(static_cast<uint32_t>(count)) : Lanes::given(false, 0, 1);          \
    unary<Operation::k##Name>(#Name, dst, src, lanes, {}, scalar_argument<PrimT<T>>(scalarValue));                 \
  }                                                                                                                \
  template <__VA_ARGS__>                                                                                           \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Type& scalarValue,         \
                            uint64_t mask[], const uint8_t repeatTime,                                             \
                            const UnaryRepeatParams& repeatParams Extra##_PARAMETER()) {                           \
    using namespace machine::vector;                                                                               \
    unary<Operation::k##Name>(#Name, dst, src, Lanes::given(isSetMask, mask, repeatTime, kTwoMaskWords<PrimT<T>>), \
                              repeatParams, scalar_argument<PrimT<T>>(scalarValue, Extra##_MODE()));               \
  }                                                                                                                \
  template <__VA_ARGS__>                                                                                           \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Type& scalarValue,         \
                            uint64_t mask, const uint8_t repeatTime,                                               \
                            const UnaryRepeatParams& repeatParams Extra##_PARAMETER()) {                           \
    using namespace machine::vector;                                                                               \
    unary<Operation::k##Name>(#Name, dst, src, Lanes::given(isSetMask, mask, repeatTime), repeatParams,            \
                              scalar_argument<PrimT<T>>(scalarValue, Extra##_MODE()));                             \
  }

#define OPWRIGHT_PLAIN_PARAMETER()
#define OPWRIGHT_PLAIN_MODE() 0
#define OPWRIGHT_ROUNDING_PARAMETER() , bool roundEn = false
#define OPWRIGHT_ROUNDING_MODE() roundEn
#define OPWRIGHT_SCALAR(Name, Extra)                                             \
  OPWRIGHT_SCALAR_FORMS(Name, T, Extra, class T, bool isSetMask = true)          \
  OPWRIGHT_SCALAR_FORMS(Name, U, Extra, class T, class U, bool isSetMask = true, \
                        machine::vector::SameAsElement<T, U> = true)

OPWRIGHT_SCALAR(Adds, OPWRIGHT_PLAIN)
OPWRIGHT_SCALAR(Muls, OPWRIGHT_PLAIN)
OPWRIGHT_SCALAR(Maxs, OPWRIGHT_PLAIN)
OPWRIGHT_SCALAR(Mins, OPWRIGHT_PLAIN)
OPWRIGHT_SCALAR(LeakyRelu, OPWRIGHT_PLAIN)
OPWRIGHT_SCALAR(ShiftLeft, OPWRIGHT_PLAIN)
OPWRIGHT_SCALAR(ShiftRight, OPWRIGHT_ROUNDING)
#undef OPWRIGHT_SCALAR
#undef OPWRIGHT_SCALAR_FORMS
#undef OPWRIGHT_ROUNDING_MODE
#undef OPWRIGHT_ROUNDING_PARAMETER
#undef OPWRIGHT_PLAIN_MODE
#undef OPWRIGHT_PLAIN_PARAMETER

// dst += scalar * src.
template <class T, class U>
OPWRIGHT_INLINE void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue,
                          const int32_t& count) {
  using namespace machine::vector;
  unary<Operation::kAxpy>("Axpy", dst, src, Lanes::all(static_cast<uint32_t>(count)), {},
                          scalar_argument<PrimT<U>>(scalarValue));
}
template <class T, class U, bool isSetMask = true>
OPWRIGHT_INLINE void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, uint64_t mask[],
                          const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  unary<Operation::kAxpy>("Axpy", dst, src, Lanes::given(isSetMask, mask, repeatTime, kTwoMaskWords<PrimT<T>>),
                          repeatParams, scalar_argument<PrimT<U>>(scalarValue));
}
template <class T, class U, bool isSetMask = true>
OPWRIGHT_INLINE void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, uint64_t mask,
                          const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  unary<Operation::kAxpy>("Axpy", dst, src, Lanes::given(isSetMask, mask, repeatTime), repeatParams,
                          scalar_argument<PrimT<U>>(scalarValue));
}

}  // namespace AscendC
