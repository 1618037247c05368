// native/ascendc/kernel/vector/fill.h
// Instructions that fill: one value, each of 8 values over a block, a row of indices.
#pragma once

#include "vector/elementwise.h"

namespace AscendC {
namespace machine::vector {

// The lanes of a filling instruction become `first`, or `first` plus the number of the lane.
struct Fill {
  uint32_t bytes;  // of an element
  uint64_t first;  // its bits
  bool counts;
  bool is_float;      // half and float
  uint64_t step = 1;  // bits of the element type
};
OPWRIGHT_RUNTIME void fill(Instruction& instruction, const char* api, const Operand& dst, const Lanes& lanes,
                           const Fill& with);

template <class T>
inline constexpr bool kFills = sizeof(T) == 2 || sizeof(T) == 4;
template <class T>
inline constexpr bool kCounts =
    std::is_same_v<T, half> || std::is_same_v<T, float> || std::is_same_v<T, int16_t> || std::is_same_v<T, int32_t>;

template <class T>
OPWRIGHT_INLINE void duplicate(const LocalTensor<T>& dst, PrimT<T> value, const Lanes& lanes, uint32_t block_stride,
                               uint32_t repeat_stride) {
  static_assert(kFills<PrimT<T>>,
                "Duplicate takes elements of 2 or 4 bytes on Atlas A2: docs/ascend_c_instructions.md");
  Instruction instruction(Pipe::kVector, "Duplicate");
  fill(instruction, "Duplicate", operand("dst", dst, block_stride, repeat_stride), lanes,
       {sizeof(value), bits_of(value), false, false});
}

template <class T>
OPWRIGHT_INLINE void count_up(const char* api, const LocalTensor<T>& dst, PrimT<T> first, PrimT<T> step,
                              const Lanes& lanes, uint32_t block_stride, uint32_t repeat_stride) {
  static_assert(kCounts<PrimT<T>>,
                "indices are half, float, int16_t or int32_t on Atlas A2: docs/ascend_c_instructions.md");
  Instruction instruction(Pipe::kVector, api);
  fill(instruction, api, operand("dst", dst, block_stride, repeat_stride), lanes,
       {sizeof(first), bits_of(first), true, !std::is_integral_v<PrimT<T>>, bits_of(step)});
}

// 8 elements of the source per repeat, each over one block.
OPWRIGHT_RUNTIME void spread(Instruction& instruction, const Operand& dst, const Operand& src, uint32_t repeats);

}  // namespace machine::vector

template <class T>
OPWRIGHT_INLINE void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int32_t& count) {
  machine::vector::duplicate(dst, scalarValue, machine::vector::Lanes::all(static_cast<uint32_t>(count)), 1, 8);
}
template <class T, bool isSetMask = true>
OPWRIGHT_INLINE void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask[],
                               const uint8_t repeatTime, const uint16_t dstBlockStride, const uint8_t dstRepeatStride) {
  using namespace machine::vector;
  duplicate(dst, scalarValue, Lanes::given(isSetMask, mask, repeatTime, kTwoMaskWords<PrimT<T>>), dstBlockStride,
            dstRepeatStride);
}
template <class T, bool isSetMask = true>
OPWRIGHT_INLINE void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask, const uint8_t repeatTime,
                               const uint16_t dstBlockStride, const uint8_t dstRepeatStride) {
  using namespace machine::vector;
  duplicate(dst, scalarValue, Lanes::given(isSetMask, mask, repeatTime), dstBlockStride, dstRepeatStride);
}

template <class T>
OPWRIGHT_INLINE void CreateVecIndex(LocalTensor<T> dst, const T& firstValue, uint32_t count) {
  using namespace machine::vector;
  count_up("CreateVecIndex", dst, firstValue, PrimT<T>(1), Lanes::all(count), 1, 8);
}
template <class T>
OPWRIGHT_INLINE void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, uint64_t mask[], uint8_t repeatTime,
                                    uint16_t dstBlkStride, uint8_t dstRepStride) {
  using namespace machine::vector;
  count_up("CreateVecIndex", dst, firstValue, PrimT<T>(1),
           Lanes::given(true, mask, repeatTime, kTwoMaskWords<PrimT<T>>), dstBlkStride, dstRepStride);
}
template <class T>
OPWRIGHT_INLINE void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, uint64_t mask, uint8_t repeatTime,
                                    uint16_t dstBlkStride, uint8_t dstRepStride) {
  using namespace machine::vector;
  count_up("CreateVecIndex", dst, firstValue, PrimT<T>(1), Lanes::given(true, mask, repeatTime), dstBlkStride,
           dstRepStride);
}

// firstValue, firstValue + diffValue, … : each by its own product, without a running sum.
template <class T>
OPWRIGHT_INLINE void ArithProgression(const LocalTensor<T>& dst, const T firstValue, const T diffValue,
                                      const int32_t count) {
  using namespace machine::vector;
  count_up("ArithProgression", dst, firstValue, diffValue, Lanes::all(static_cast<uint32_t>(count)), 1, 8);
}

// Brcb: each element of the source over one block of the destination.
template <class T>
OPWRIGHT_INLINE void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint8_t repeatTime,
                          const BrcbRepeatParams& repeatParams) {
  static_assert(machine::vector::kFills<PrimT<T>>,
                "Brcb takes elements of 2 or 4 bytes: docs/ascend_c_instructions.md");
  machine::Instruction instruction(machine::Pipe::kVector, "Brcb");
  machine::vector::spread(instruction,
                          machine::vector::operand("dst", dst, repeatParams.dstBlkStride, repeatParams.dstRepStride),
                          machine::vector::operand("src", src), repeatTime);
}

}  // namespace AscendC
