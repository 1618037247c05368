// native/ascendc/kernel/vector/gather.h
// Elements and blocks from places that a tensor of offsets or a mask names: Gather, Gatherb, GatherMask.
#pragma once

#include "vector/elementwise.h"

namespace AscendC {
namespace machine::vector {

// Offsets count bytes from `base` bytes behind the start of src.
OPWRIGHT_RUNTIME void gather(Instruction& instruction, const Operand& dst, const Operand& src, uint32_t src_bytes,
                             const Operand& offsets, uint32_t base, const Lanes& lanes);
OPWRIGHT_RUNTIME void gather_blocks(Instruction& instruction, const Operand& dst, const Operand& src,
                                    const Operand& offsets, uint32_t repeats);

struct MaskedGather {
  uint32_t pattern;  // 1 to 7, or 0: the bits of a tensor
  const void* bits;
  uint32_t bits_stride;       // blocks between the bits of two repeats
  uint32_t lanes_per_repeat;  // 0: 256 bytes of them
  uint32_t repeats;
};
// Returns how many elements are taken. They lie one behind the other.
OPWRIGHT_RUNTIME uint64_t gather_masked(Instruction& instruction, const Operand& dst, const Operand& src,
                                        const MaskedGather& how);

template <class T>
inline constexpr bool kGathers = sizeof(T) == 2 || sizeof(T) == 4;

template <class T>
OPWRIGHT_INLINE void gather_elements(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                     const LocalTensor<uint32_t>& offsets, uint32_t base, const Lanes& lanes,
                                     uint32_t dst_repeat) {
  static_assert(kGathers<PrimT<T>>, "Gather takes elements of 2 or 4 bytes on Atlas A2: docs/ascend_c_instructions.md");
  Instruction instruction(Pipe::kVector, "Gather");
  gather(instruction, operand("dst", dst, 1, dst_repeat), operand("src", src), src.bytes(),
         operand("srcOffset", offsets), base, lanes);
}

}  // namespace machine::vector

template <typename T>
OPWRIGHT_INLINE void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr, const uint32_t count) {
  machine::vector::gather_elements(dst, src, srcOffset, srcBaseAddr, machine::vector::Lanes::all(count), 8);
}
template <typename T>
OPWRIGHT_INLINE void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr, const uint64_t mask[],
                            const uint8_t repeatTime, const uint16_t dstRepStride) {
  using namespace machine::vector;
  gather_elements(dst, src, srcOffset, srcBaseAddr, Lanes::given(true, mask, repeatTime, kTwoMaskWords<PrimT<T>>),
                  dstRepStride);
}
template <typename T>
OPWRIGHT_INLINE void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr, const uint64_t mask,
                            const uint8_t repeatTime, const uint16_t dstRepStride) {
  using namespace machine::vector;
  gather_elements(dst, src, srcOffset, srcBaseAddr, Lanes::given(true, mask, repeatTime), dstRepStride);
}

template <typename T>
OPWRIGHT_INLINE void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offset,
                             const uint8_t repeatTime, const GatherRepeatParams& repeatParams) {
  using namespace machine::vector;
  static_assert(kGathers<PrimT<T>>,
                "Gatherb takes elements of 2 or 4 bytes on Atlas A2: docs/ascend_c_instructions.md");
  machine::Instruction instruction(machine::Pipe::kVector, "Gatherb");
  const uint32_t block = repeatParams.dstBlkStride == 0 ? 1 : repeatParams.dstBlkStride;
  gather_blocks(instruction, operand("dst", dst, block, repeatParams.dstRepStride), operand("src0", src),
                operand("offset", offset), repeatTime);
}

// GatherMask: without reduceMode each repeat takes 256 bytes, with it `mask` elements. It ends in normal mask mode.
template <typename T, typename U, GatherMaskMode mode = defaultGatherMaskMode>
OPWRIGHT_INLINE void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                const LocalTensor<U>& src1Pattern, const bool reduceMode, const uint32_t mask,
                                const GatherMaskParams& gatherMaskParams, uint64_t& rsvdCnt) {
  using namespace machine::vector;
  static_assert(
      kGathers<PrimT<T>> && sizeof(PrimT<U>) == sizeof(PrimT<T>),
      "GatherMask takes elements of 2 or 4 bytes and a pattern of uint16_t or uint32_t: docs/ascend_c_instructions.md");
  machine::Instruction instruction(machine::Pipe::kVector, "GatherMask");
  rsvdCnt = gather_masked(
      instruction, operand("dst", dst),
      operand("src0", src0, gatherMaskParams.src0BlockStride, gatherMaskParams.src0RepeatStride),
      {0, src1Pattern.data(), gatherMaskParams.src1RepeatStride, reduceMode ? mask : 0, gatherMaskParams.repeatTimes});
}
template <typename T, GatherMaskMode mode = defaultGatherMaskMode>
OPWRIGHT_INLINE void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern,
                                const bool reduceMode, const uint32_t mask, const GatherMaskParams& gatherMaskParams,
                                uint64_t& rsvdCnt) {
  using namespace machine::vector;
  static_assert(kGathers<PrimT<T>>,
                "GatherMask takes elements of 2 or 4 bytes on Atlas A2: docs/ascend_c_instructions.md");
  if (src1Pattern < 1 || src1Pattern > 7) {
    machine::refuse("GatherMask", "src1Pattern is ", int{src1Pattern}, "; allowed: 1 to 7");
  }
  machine::Instruction instruction(machine::Pipe::kVector, "GatherMask");
  rsvdCnt = gather_masked(instruction, operand("dst", dst),
                          operand("src0", src0, gatherMaskParams.src0BlockStride, gatherMaskParams.src0RepeatStride),
                          {src1Pattern, nullptr, 0, reduceMode ? mask : 0, gatherMaskParams.repeatTimes});
}
// How many elements the last GatherMask took.
OPWRIGHT_INLINE int64_t GetGatherMaskRemainCount() { return machine::core().registers.gather_count; }

}  // namespace AscendC
