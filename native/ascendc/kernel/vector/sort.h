// native/ascendc/kernel/vector/sort.h
// Sorting of (score, index) pairs of 8 bytes, from large to small: Sort32, MrgSort. A score of half lies in the first 2
// bytes, one of float in the first 4; the index is in the last 4.
#pragma once

#include "vector/lanes.h"

namespace AscendC {
namespace machine::vector {

OPWRIGHT_RUNTIME void sort_32(Instruction& instruction, void* dst, const void* scores, const void* indices,
                              bool is_half, uint32_t repeats);

struct Merge {
  const void* queues[4];
  uint16_t lengths[4];  // pairs
  uint32_t count;       // queues
  uint32_t repeats;
  bool stops;  // as soon as a queue is used up
  bool is_half;
};
OPWRIGHT_RUNTIME void merge_sorted(Instruction& instruction, void* dst, const Merge& merge);

template <class T>
inline constexpr bool kSorts = std::is_same_v<T, half> || std::is_same_v<T, float>;

}  // namespace machine::vector

template <typename T>
OPWRIGHT_INLINE void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src1,
                            const int32_t repeatTime) {
  static_assert(machine::vector::kSorts<PrimT<T>>, "Sort32 takes half or float: docs/ascend_c_instructions.md");
  machine::Instruction instruction(machine::Pipe::kVector, "Sort32");
  machine::vector::sort_32(instruction, dst.data(), src0.data(), src1.data(), sizeof(PrimT<T>) == 2,
                           static_cast<uint32_t>(repeatTime));
}

template <typename T>
OPWRIGHT_INLINE void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params) {
  static_assert(machine::vector::kSorts<PrimT<T>>, "MrgSort takes half or float: docs/ascend_c_instructions.md");
  machine::Instruction instruction(machine::Pipe::kVector, "MrgSort");
  if (params.validBit != 3 && params.validBit != 7 && params.validBit != 15) {
    machine::refuse("MrgSort", "validBit is ", params.validBit, "; allowed: 3, 7, 15");
  }
  const uint16_t* lengths = params.elementLengths;
  machine::vector::merge_sorted(instruction, dst.data(),
                                {{src.src1.data(), src.src2.data(), src.src3.data(), src.src4.data()},
                                 {lengths[0], lengths[1], lengths[2], lengths[3]},
                                 params.validBit == 3   ? 2u
                                 : params.validBit == 7 ? 3u
                                                        : 4u,
                                 params.repeatTimes,
                                 params.ifExhaustedSuspension,
                                 sizeof(PrimT<T>) == 2});
}

// How many pairs the last MrgSort took of each queue.
OPWRIGHT_INLINE void GetMrgSortResult(uint16_t& mrgSortList1, uint16_t& mrgSortList2, uint16_t& mrgSortList3,
                                      uint16_t& mrgSortList4) {
  const uint32_t* counts = machine::core().registers.merge_counts;
  mrgSortList1 = static_cast<uint16_t>(counts[0]);
  mrgSortList2 = static_cast<uint16_t>(counts[1]);
  mrgSortList3 = static_cast<uint16_t>(counts[2]);
  mrgSortList4 = static_cast<uint16_t>(counts[3]);
}

}  // namespace AscendC
