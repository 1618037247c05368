// native/ascendc/kernel/vector/interpolation.h
// BilinearInterpolation: gathered blocks, weighted and summed.
#pragma once

#include "vector/elementwise.h"

namespace AscendC {
namespace machine::vector {

struct Interpolation {
  uint32_t horizontal;       // terms of a sum
  uint32_t vertical;         // sums
  bool weight_per_block;     // else one weight per term
  uint32_t vertical_stride;  // elements of the destination
};
OPWRIGHT_RUNTIME void interpolate(Instruction& instruction, const Operand& dst, const Operand& src,
                                  const Operand& offsets, const Operand& weights, const Operand& shared,
                                  const Lanes& lanes, const Interpolation& how);

template <class T>
OPWRIGHT_INLINE void interpolation(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                   const LocalTensor<uint32_t>& src0Offset, const LocalTensor<T>& src1,
                                   const LocalTensor<uint8_t>& shared, const Lanes& lanes, uint16_t dst_block,
                                   const Interpolation& how) {
  static_assert(std::is_same_v<PrimT<T>, half>, "BilinearInterpolation takes half: docs/ascend_c_instructions.md");
  Instruction instruction(Pipe::kVector, "BilinearInterpolation");
  interpolate(instruction, operand("dst", dst, dst_block), operand("src0", src0), operand("src0Offset", src0Offset),
              operand("src1", src1), operand("sharedTmpBuffer", shared), lanes, how);
}

}  // namespace machine::vector

template <typename T>
OPWRIGHT_INLINE void BilinearInterpolation(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                           const LocalTensor<uint32_t>& src0Offset, const LocalTensor<T>& src1,
                                           uint64_t mask[], uint8_t hRepeat, bool repeatMode, uint16_t dstBlkStride,
                                           uint16_t vROffset, uint8_t vRepeat,
                                           const LocalTensor<uint8_t>& sharedTmpBuffer) {
  using namespace machine::vector;
  interpolation(dst, src0, src0Offset, src1, sharedTmpBuffer, Lanes::given(true, mask, 1, true), dstBlkStride,
                {hRepeat, vRepeat, repeatMode, vROffset});
}
template <typename T>
OPWRIGHT_INLINE void BilinearInterpolation(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                           const LocalTensor<uint32_t>& src0Offset, const LocalTensor<T>& src1,
                                           uint64_t mask, uint8_t hRepeat, bool repeatMode, uint16_t dstBlkStride,
                                           uint16_t vROffset, uint8_t vRepeat,
                                           const LocalTensor<uint8_t>& sharedTmpBuffer) {
  using namespace machine::vector;
  interpolation(dst, src0, src0Offset, src1, sharedTmpBuffer, Lanes::given(true, mask, 1), dstBlkStride,
                {hRepeat, vRepeat, repeatMode, vROffset});
}

}  // namespace AscendC
