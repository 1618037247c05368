// native/ascendc/kernel/vector/select.h
// Select: a bit of 1 takes the lane of src0, a bit of 0 that of src1 or a scalar.
#pragma once

#include "vector/compare.h"

namespace AscendC {
namespace machine::vector {

struct Selection {
  Operand dst;
  Operand first;
  Operand second;  // without a base: the scalar
  uint64_t scalar;
  const void* bits;  // nullptr: those of the compare register
  bool same_bits;    // each repeat takes the first ones again
};
OPWRIGHT_RUNTIME void select(Instruction& instruction, const Selection& selection, const Lanes& lanes);

// The bits whose address SetCmpMask has loaded.
OPWRIGHT_RUNTIME const void* address_in_compare_register();

template <class T>
inline constexpr bool kSelects = std::is_same_v<T, half> || std::is_same_v<T, float>;

template <class T>
OPWRIGHT_INLINE void select_tensors(const LocalTensor<T>& dst, const void* bits, const LocalTensor<T>& src0,
                                    const LocalTensor<T>& src1, SELMODE mode, const Lanes& lanes,
                                    const BinaryRepeatParams& strides) {
  static_assert(kSelects<PrimT<T>>, "Select takes half or float on Atlas A2: docs/ascend_c_instructions.md");
  if (mode == SELMODE::VSEL_TENSOR_SCALAR_MODE) {
    refuse("Select",
           "two tensors are given with VSEL_TENSOR_SCALAR_MODE; allowed: VSEL_CMPMASK_SPR, "
           "VSEL_TENSOR_TENSOR_MODE");
  }
  Instruction instruction(Pipe::kVector, "Select");
  select(
      instruction,
      {operand("dst", dst, strides.dstBlkStride, strides.dstRepStride),
       operand("src0", src0, strides.src0BlkStride, strides.src0RepStride),
       operand("src1", src1, strides.src1BlkStride, strides.src1RepStride), 0, bits, mode == SELMODE::VSEL_CMPMASK_SPR},
      lanes);
}

template <class T>
OPWRIGHT_INLINE void select_scalar(const LocalTensor<T>& dst, const void* bits, const LocalTensor<T>& src0,
                                   uint64_t scalar, SELMODE mode, const Lanes& lanes,
                                   const BinaryRepeatParams& strides) {
  static_assert(kSelects<PrimT<T>>, "Select takes half or float on Atlas A2: docs/ascend_c_instructions.md");
  if (mode != SELMODE::VSEL_TENSOR_SCALAR_MODE) {
    refuse("Select", "a tensor and a scalar are given; allowed: VSEL_TENSOR_SCALAR_MODE");
  }
  Instruction instruction(Pipe::kVector, "Select");
  select(instruction,
         {operand("dst", dst, strides.dstBlkStride, strides.dstRepStride),
          operand("src0", src0, strides.src0BlkStride, strides.src0RepStride),
          {"src1", nullptr, kBitsOf<PrimT<T>>},
          scalar,
          bits,
          false},
         lanes);
}

}  // namespace machine::vector

// ---- a tensor and a scalar

template <typename T, typename U>
OPWRIGHT_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                            T src1, SELMODE selMode, uint32_t count) {
  using namespace machine::vector;
  select_scalar(dst, selMask.data(), src0, scalar_argument(src1).scalar, selMode, Lanes::all(count), {});
}
template <typename T, typename U, bool isSetMask = true>
OPWRIGHT_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                            T src1, SELMODE selMode, uint64_t mask[], uint8_t repeatTime,
                            const BinaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  select_scalar(dst, selMask.data(), src0, scalar_argument(src1).scalar, selMode,
                Lanes::given(isSetMask, mask, repeatTime, kTwoMaskWords<PrimT<T>>), repeatParams);
}
template <typename T, typename U, bool isSetMask = true>
OPWRIGHT_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                            T src1, SELMODE selMode, uint64_t mask, uint8_t repeatTime,
                            const BinaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  select_scalar(dst, selMask.data(), src0, scalar_argument(src1).scalar, selMode,
                Lanes::given(isSetMask, mask, repeatTime), repeatParams);
}
// The scalar is what SetCmpMask has loaded; the mask is the register's.
template <typename T, typename U>
OPWRIGHT_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                            uint8_t repeatTime, const BinaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  select_scalar(dst, selMask.data(), src0, machine::core().registers.compare_low, SELMODE::VSEL_TENSOR_SCALAR_MODE,
                Lanes::given(false, 0, repeatTime), repeatParams);
}

// ---- two tensors

template <typename T, typename U>
OPWRIGHT_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                            const LocalTensor<T>& src1, SELMODE selMode, uint32_t count) {
  using namespace machine::vector;
  select_tensors(dst, selMask.data(), src0, src1, selMode, Lanes::all(count), {});
}
template <typename T, typename U, bool isSetMask = true>
OPWRIGHT_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                            const LocalTensor<T>& src1, SELMODE selMode, uint64_t mask[], uint8_t repeatTime,
                            const BinaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  select_tensors(dst, selMask.data(), src0, src1, selMode,
                 Lanes::given(isSetMask, mask, repeatTime, kTwoMaskWords<PrimT<T>>), repeatParams);
}
template <typename T, typename U, bool isSetMask = true>
OPWRIGHT_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                            const LocalTensor<T>& src1, SELMODE selMode, uint64_t mask, uint8_t repeatTime,
                            const BinaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  select_tensors(dst, selMask.data(), src0, src1, selMode, Lanes::given(isSetMask, mask, repeatTime), repeatParams);
}
// The bits are what SetCmpMask has loaded, or lie at the address that it has loaded; the mask is the register's.
template <typename T, SELMODE selMode>
OPWRIGHT_INLINE void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                            uint8_t repeatTime, const BinaryRepeatParams& repeatParams) {
  using namespace machine::vector;
  const void* bits = selMode == SELMODE::VSEL_TENSOR_TENSOR_MODE ? address_in_compare_register() : nullptr;
  select_tensors(dst, bits, src0, src1, selMode, Lanes::given(false, 0, repeatTime), repeatParams);
}

}  // namespace AscendC
