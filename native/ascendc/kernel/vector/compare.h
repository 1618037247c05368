// native/ascendc/kernel/vector/compare.h
// Comparisons give a bit per lane, selections take one: Compare, Compares, Select, and the register between them.
#pragma once

#include "vector/elementwise.h"

namespace AscendC {
namespace machine::vector {

enum class Element : uint8_t { kHalf, kFloat, kInt32 };

template <class T>
constexpr Element element_of() {
  if constexpr (std::is_same_v<T, half>) return Element::kHalf;
  if constexpr (std::is_same_v<T, float>) return Element::kFloat;
  return Element::kInt32;
}

// Operands of a comparison. With a scalar `second` has no base.
struct Comparison {
  const char* api;
  Element element;
  CMPMODE mode;
  Operand first;
  Operand second;
  uint64_t scalar = 0;
};
// Bits lie one behind the other, those of a repeat after those of the repeat before.
OPWRIGHT_RUNTIME void compare(Instruction& instruction, const Comparison& comparison, const char* dst_name, void* dst,
                              const Lanes& lanes);
// One repeat, into the compare register.
OPWRIGHT_RUNTIME void compare_to_register(Instruction& instruction, const Comparison& comparison, const Lanes& lanes);

template <class T>
OPWRIGHT_INLINE Comparison comparison(const char* api, CMPMODE mode, const Operand& first, const Operand& second,
                                      uint64_t scalar = 0) {
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, float> || std::is_same_v<T, int32_t>,
                "comparisons take half, float, or int32_t (EQ only) on Atlas A2: docs/ascend_c_instructions.md");
  return {api, element_of<T>(), mode, first, second, scalar};
}

template <class T, class U>
OPWRIGHT_INLINE void compare_tensors(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                                     CMPMODE mode, const Lanes& lanes, const BinaryRepeatParams& strides) {
  static_assert(sizeof(PrimT<U>) == 1,
                "Compare: the bits go to a tensor of int8_t or uint8_t; docs/ascend_c_instructions.md");
  Instruction instruction(Pipe::kVector, "Compare");
  compare(instruction,
          comparison<PrimT<T>>("Compare", mode, operand("src0", src0, strides.src0BlkStride, strides.src0RepStride),
                               operand("src1", src1, strides.src1BlkStride, strides.src1RepStride)),
          "dst", dst.data(), lanes);
}

template <class T, class U>
OPWRIGHT_INLINE void compare_scalar(const char* api, const LocalTensor<U>& dst, const LocalTensor<T>& src0,
                                    PrimT<T> scalar, CMPMODE mode, const Lanes& lanes,
                                    const UnaryRepeatParams& strides) {
  static_assert(sizeof(PrimT<U>) == 1,
                "Compares: the bits go to a tensor of int8_t or uint8_t; docs/ascend_c_instructions.md");
  Instruction instruction(Pipe::kVector, api);
  const Operand first = operand("src0", src0, strides.srcBlkStride, strides.srcRepStride);
  const uint64_t bits = scalar_argument(scalar).scalar;
  compare(instruction, comparison<PrimT<T>>(api, mode, first, {"src1Scalar", nullptr, first.bits}, bits), "dst",
          dst.data(), lanes);
}

}  // namespace machine::vector

// ---- Compare. The mask has no effect on Atlas A2, but in counter mode, where it says how many elements there are.

template <typename T, typename U>
OPWRIGHT_INLINE void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                             CMPMODE cmpMode, uint32_t count) {
  machine::vector::compare_tensors(dst, src0, src1, cmpMode, machine::vector::Lanes::all(count), {});
}
template <typename T, typename U, bool isSetMask = true>
OPWRIGHT_INLINE void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                             CMPMODE cmpMode, const uint64_t mask[], uint8_t repeatTime,
                             const BinaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  compare_tensors(dst, src0, src1, cmpMode, Lanes::given(isSetMask, mask, repeatTime, kTwoMaskWords<PrimT<T>>),
                  repeatParams);
}
template <typename T, typename U, bool isSetMask = true>
OPWRIGHT_INLINE void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                             CMPMODE cmpMode, const uint64_t mask, uint8_t repeatTime,
                             const BinaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  compare_tensors(dst, src0, src1, cmpMode, Lanes::given(isSetMask, mask, repeatTime), repeatParams);
}

// Into the compare register: lanes that the mask leaves out are 0.
template <typename T, bool isSetMask = true>
OPWRIGHT_INLINE void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
                             const uint64_t mask[], const BinaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  machine::Instruction instruction(machine::Pipe::kVector, "Compare");
  compare_to_register(instruction,
                      comparison<PrimT<T>>("Compare", cmpMode, operand("src0", src0, repeatParams.src0BlkStride),
                                           operand("src1", src1, repeatParams.src1BlkStride)),
                      Lanes::given(isSetMask, mask, 1, kTwoMaskWords<PrimT<T>>));
}
template <typename T, bool isSetMask = true>
OPWRIGHT_INLINE void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
                             const uint64_t mask, const BinaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  machine::Instruction instruction(machine::Pipe::kVector, "Compare");
  compare_to_register(instruction,
                      comparison<PrimT<T>>("Compare", cmpMode, operand("src0", src0, repeatParams.src0BlkStride),
                                           operand("src1", src1, repeatParams.src1BlkStride)),
                      Lanes::given(isSetMask, mask, 1));
}

// ---- Compares, and CompareScalar, its former name

#define OPWRIGHT_COMPARE_SCALAR(Name)                                                                               \
  template <typename T, typename U>                                                                                 \
  OPWRIGHT_INLINE void Name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,              \
                            CMPMODE cmpMode, uint32_t count) {                                                      \
    using namespace machine::vector;                                                                                \
    compare_scalar(#Name, dst, src0, src1Scalar, cmpMode, Lanes::all(count), {});                                   \
  }                                                                                                                 \
  template <typename T, typename U, bool isSetMask = true>                                                          \
  OPWRIGHT_INLINE void Name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,              \
                            CMPMODE cmpMode, const uint64_t mask[], uint8_t repeatTime,                             \
                            const UnaryRepeatParams& repeatParams) {                                                \
    using namespace machine::vector;                                                                                \
    compare_scalar(#Name, dst, src0, src1Scalar, cmpMode,                                                           \
                   Lanes::given(isSetMask, mask, repeatTime, kTwoMaskWords<PrimT<T>>), repeatParams);               \
  }                                                                                                                 \
  template <typename T, typename U, bool isSetMask = true>                                                          \
  OPWRIGHT_INLINE void Name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,              \
                            CMPMODE cmpMode, const uint64_t mask, uint8_t repeatTime,                               \
                            const UnaryRepeatParams& repeatParams) {                                                \
    using namespace machine::vector;                                                                                \
    compare_scalar(#Name, dst, src0, src1Scalar, cmpMode, Lanes::given(isSetMask, mask, repeatTime), repeatParams); \
  }
OPWRIGHT_COMPARE_SCALAR(Compares)
OPWRIGHT_COMPARE_SCALAR(CompareScalar)
#undef OPWRIGHT_COMPARE_SCALAR

// ---- the compare register

namespace machine::vector {
OPWRIGHT_RUNTIME void store_compare_register(Instruction& instruction, void* dst);
OPWRIGHT_RUNTIME void load_compare_register(Instruction& instruction, const void* src);
}  // namespace machine::vector

template <typename T>
OPWRIGHT_INLINE void GetCmpMask(const LocalTensor<T>& dst) {
  machine::Instruction instruction(machine::Pipe::kVector, "GetCmpMask");
  machine::vector::store_compare_register(instruction, dst.data());
}
// The operand of the next Select without a mask: bits (mode 0), scalar (mode 1), address of its bits (mode 2).
template <typename T>
OPWRIGHT_INLINE void SetCmpMask(const LocalTensor<T>& src) {
  machine::Instruction instruction(machine::Pipe::kVector, "SetCmpMask");
  machine::vector::load_compare_register(instruction, src.data());
}

}  // namespace AscendC
