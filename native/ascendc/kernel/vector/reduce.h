// native/ascendc/kernel/vector/reduce.h
// Reductions: of each repeat, each block of 32 bytes, each pair of lanes, and of all elements.
#pragma once

#include "vector/elementwise.h"

namespace AscendC {
namespace machine::vector {

struct Reduction {
  const char* api;
  ReduceType type;
  bool is_half;
  // In the destination, between the results of two repeats; its unit depends on the reduction.
  uint32_t dst_stride;
  ReduceOrder order = ReduceOrder::ORDER_ONLY_VALUE;  // of a maximum or minimum and its index
};

// One result per repeat: the sum as a tree of pairs, or the extreme value with the first lane that has it.
OPWRIGHT_RUNTIME void reduce_repeats(Instruction& instruction, const Reduction& reduction, void* dst,
                                     const Operand& src, const Lanes& lanes);
// One result per block; blocks without a lane leave their result as it was.
OPWRIGHT_RUNTIME void reduce_blocks(Instruction& instruction, const Reduction& reduction, void* dst, const Operand& src,
                                    const Lanes& lanes);
// One sum per pair of lanes.
OPWRIGHT_RUNTIME void reduce_pairs(Instruction& instruction, const Reduction& reduction, void* dst, const Operand& src,
                                   const Lanes& lanes);
// One result of all. `shared` is the temporary buffer of the device.
OPWRIGHT_RUNTIME void reduce_all(Instruction& instruction, const Reduction& reduction, void* dst, const Operand& src,
                                 const Operand& shared, const Lanes& lanes);

template <class T>
OPWRIGHT_INLINE Reduction reduction(const char* api, ReduceType type, uint32_t dst_stride = 1,
                                    ReduceOrder order = ReduceOrder::ORDER_ONLY_VALUE) {
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, float>,
                "reductions take half or float on Atlas A2: docs/ascend_c_instructions.md");
  return {api, type, std::is_same_v<T, half>, dst_stride, order};
}

using Reduce = void(Instruction&, const Reduction&, void*, const Operand&, const Lanes&);

template <class T>
OPWRIGHT_INLINE Lanes reduced_lanes(bool set_mask, const uint64_t* mask, int32_t repeats) {
  return Lanes::given(set_mask, mask, static_cast<uint32_t>(repeats), kTwoMaskWords<PrimT<T>>);
}
template <class T>
OPWRIGHT_INLINE Lanes reduced_lanes(bool set_mask, int32_t mask, int32_t repeats) {
  return Lanes::given(set_mask, static_cast<uint64_t>(mask), static_cast<uint32_t>(repeats));
}

template <Reduce* reduce, class T>
OPWRIGHT_INLINE void reduce_each(const Reduction& what, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 const Lanes& lanes, int32_t src_block, int32_t src_repeat) {
  Instruction instruction(Pipe::kVector, what.api);
  const Operand from = operand("src", src, static_cast<uint32_t>(src_block), static_cast<uint32_t>(src_repeat));
  reduce(instruction, what, dst.data(), from, lanes);
}

}  // namespace machine::vector

// ---- ReduceRepeat, ReduceDataBlock, ReducePairElem

#define OPWRIGHT_REDUCE(Name, function, Mask, Extra, order)                                                        \
  template <ReduceType reduceType, typename T, typename U = T, bool isSetMask = true>                              \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src, Mask, const int32_t repeatTime,  \
                            const int32_t dstRepStride, const int32_t srcBlkStride,                                \
                            const int32_t srcRepStride Extra()) {                                                  \
    using namespace machine::vector;                                                                               \
    static_assert(std::is_same_v<T, U>,                                                                            \
                  #Name ": the destination has the source's type; docs/ascend_c_instructions.md");                 \
    reduce_each<function>(reduction<PrimT<T>>(#Name, reduceType, static_cast<uint32_t>(dstRepStride), order), dst, \
                          src, reduced_lanes<T>(isSetMask, mask, repeatTime), srcBlkStride, srcRepStride);         \
  }
#define OPWRIGHT_ORDER() , ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX
#define OPWRIGHT_NO_ORDER()
#define OPWRIGHT_REDUCE_FORMS(Name, function, Extra, order)            \
  OPWRIGHT_REDUCE(Name, function, const uint64_t mask[], Extra, order) \
  OPWRIGHT_REDUCE(Name, function, const int32_t mask, Extra, order)
OPWRIGHT_REDUCE_FORMS(ReduceRepeat, reduce_repeats, OPWRIGHT_ORDER, order)
OPWRIGHT_REDUCE_FORMS(ReduceDataBlock, reduce_blocks, OPWRIGHT_NO_ORDER, ReduceOrder::ORDER_ONLY_VALUE)
OPWRIGHT_REDUCE_FORMS(ReducePairElem, reduce_pairs, OPWRIGHT_NO_ORDER, ReduceOrder::ORDER_ONLY_VALUE)
#undef OPWRIGHT_REDUCE_FORMS
#undef OPWRIGHT_REDUCE

// ---- their names up to CANN 9.0

#define OPWRIGHT_WHOLE_REDUCE(Name, type, Mask, Extra, order)                                                      \
  template <typename T, bool isSetMask = true>                                                                     \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, Mask, const int32_t repeatTime,  \
                            const int32_t dstRepStride, const int32_t srcBlkStride,                                \
                            const int32_t srcRepStride Extra()) {                                                  \
    using namespace machine::vector;                                                                               \
    reduce_each<reduce_repeats>(reduction<PrimT<T>>(#Name, type, static_cast<uint32_t>(dstRepStride), order), dst, \
                                src, reduced_lanes<T>(isSetMask, mask, repeatTime), srcBlkStride, srcRepStride);   \
  }
#define OPWRIGHT_WHOLE_REDUCE_FORMS(Name, type, Extra, order)            \
  OPWRIGHT_WHOLE_REDUCE(Name, type, const uint64_t mask[], Extra, order) \
  OPWRIGHT_WHOLE_REDUCE(Name, type, const int32_t mask, Extra, order)
OPWRIGHT_WHOLE_REDUCE_FORMS(WholeReduceSum, ReduceType::SUM, OPWRIGHT_NO_ORDER, ReduceOrder::ORDER_ONLY_VALUE)
OPWRIGHT_WHOLE_REDUCE_FORMS(WholeReduceMax, ReduceType::MAX, OPWRIGHT_ORDER, order)
OPWRIGHT_WHOLE_REDUCE_FORMS(WholeReduceMin, ReduceType::MIN, OPWRIGHT_ORDER, order)
#undef OPWRIGHT_WHOLE_REDUCE_FORMS
#undef OPWRIGHT_WHOLE_REDUCE
#undef OPWRIGHT_NO_ORDER
#undef OPWRIGHT_ORDER

// Here the number of repeats comes before the mask.
#define OPWRIGHT_OLD_REDUCE(Name, function, type, Mask)                                                           \
  template <typename T, bool isSetMask = true>                                                                    \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, Mask, \
                            const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride) { \
    using namespace machine::vector;                                                                              \
    reduce_each<function>(reduction<PrimT<T>>(#Name, type, static_cast<uint32_t>(dstRepStride)), dst, src,        \
                          reduced_lanes<T>(isSetMask, mask, repeatTime), srcBlkStride, srcRepStride);             \
  }
#define OPWRIGHT_OLD_REDUCE_FORMS(Name, function, type)            \
  OPWRIGHT_OLD_REDUCE(Name, function, type, const uint64_t mask[]) \
  OPWRIGHT_OLD_REDUCE(Name, function, type, const int32_t mask)
OPWRIGHT_OLD_REDUCE_FORMS(BlockReduceSum, reduce_blocks, ReduceType::SUM)
OPWRIGHT_OLD_REDUCE_FORMS(BlockReduceMax, reduce_blocks, ReduceType::MAX)
OPWRIGHT_OLD_REDUCE_FORMS(BlockReduceMin, reduce_blocks, ReduceType::MIN)
OPWRIGHT_OLD_REDUCE_FORMS(PairReduceSum, reduce_pairs, ReduceType::SUM)
#undef OPWRIGHT_OLD_REDUCE_FORMS
#undef OPWRIGHT_OLD_REDUCE

template <typename T, bool isSetMask = true>
OPWRIGHT_INLINE void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,
                                     const int32_t mask, const int32_t /*dstBlkStride*/, const int32_t srcBlkStride,
                                     const int32_t dstRepStride, const int32_t srcRepStride) {
  using namespace machine::vector;
  reduce_each<reduce_repeats>(
      reduction<PrimT<T>>("RepeatReduceSum", ReduceType::SUM, static_cast<uint32_t>(dstRepStride)), dst, src,
      reduced_lanes<T>(isSetMask, mask, repeatTime), srcBlkStride, srcRepStride);
}

// ---- of all elements

namespace machine::vector {

template <class T>
OPWRIGHT_INLINE void reduce_to_one(const char* api, ReduceType type, const LocalTensor<T>& dst,
                                   const LocalTensor<T>& src, const LocalTensor<T>& shared, const Lanes& lanes,
                                   int32_t src_repeat, bool index) {
  Instruction instruction(Pipe::kVector, api);
  const ReduceOrder order = index ? ReduceOrder::ORDER_VALUE_INDEX : ReduceOrder::ORDER_ONLY_VALUE;
  reduce_all(instruction, reduction<PrimT<T>>(api, type, 1, order), dst.data(),
             operand("src", src, 1, static_cast<uint32_t>(src_repeat)), operand("sharedTmpBuffer", shared), lanes);
}

}  // namespace machine::vector

template <typename T, bool isSetMask = true>
OPWRIGHT_INLINE void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<T>& sharedTmpBuffer, const int32_t count) {
  using namespace machine::vector;
  const Lanes lanes = isSetMask ? Lanes::all(static_cast<uint32_t>(count)) : Lanes::given(false, 0, 1);
  reduce_to_one("ReduceSum", ReduceType::SUM, dst, src, sharedTmpBuffer, lanes, 8, false);
}
template <typename T>
OPWRIGHT_INLINE void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<T>& sharedTmpBuffer, const uint64_t mask[], const int32_t repeatTime,
                               const int32_t srcRepStride) {
  using namespace machine::vector;
  reduce_to_one("ReduceSum", ReduceType::SUM, dst, src, sharedTmpBuffer, reduced_lanes<T>(true, mask, repeatTime),
                srcRepStride, false);
}
template <typename T>
OPWRIGHT_INLINE void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<T>& sharedTmpBuffer, const int32_t mask, const int32_t repeatTime,
                               const int32_t srcRepStride) {
  using namespace machine::vector;
  reduce_to_one("ReduceSum", ReduceType::SUM, dst, src, sharedTmpBuffer, reduced_lanes<T>(true, mask, repeatTime),
                srcRepStride, false);
}

#define OPWRIGHT_REDUCE_EXTREME(Name, type)                                                                         \
  template <typename T>                                                                                             \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                   \
                            const LocalTensor<T>& sharedTmpBuffer, const int32_t count, bool calIndex = 0) {        \
    using namespace machine::vector;                                                                                \
    reduce_to_one(#Name, type, dst, src, sharedTmpBuffer, Lanes::all(static_cast<uint32_t>(count)), 8, calIndex);   \
  }                                                                                                                 \
  template <typename T>                                                                                             \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                   \
                            const LocalTensor<T>& sharedTmpBuffer, const uint64_t mask[], const int32_t repeatTime, \
                            const int32_t srcRepStride, bool calIndex = 0) {                                        \
    using namespace machine::vector;                                                                                \
    reduce_to_one(#Name, type, dst, src, sharedTmpBuffer, reduced_lanes<T>(true, mask, repeatTime), srcRepStride,   \
                  calIndex);                                                                                        \
  }                                                                                                                 \
  template <typename T>                                                                                             \
  OPWRIGHT_INLINE void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                   \
                            const LocalTensor<T>& sharedTmpBuffer, const int32_t mask, const int32_t repeatTime,    \
                            const int32_t srcRepStride, bool calIndex = 0) {                                        \
    using namespace machine::vector;                                                                                \
    reduce_to_one(#Name, type, dst, src, sharedTmpBuffer, reduced_lanes<T>(true, mask, repeatTime), srcRepStride,   \
                  calIndex);                                                                                        \
  }
OPWRIGHT_REDUCE_EXTREME(ReduceMax, ReduceType::MAX)
OPWRIGHT_REDUCE_EXTREME(ReduceMin, ReduceType::MIN)
#undef OPWRIGHT_REDUCE_EXTREME

// ---- what the last reduction left in the special registers

namespace machine::vector {

// An index as the device keeps it: its bits in a number of type T.
template <class T>
OPWRIGHT_INLINE T index_bits(uint64_t index) {
  T value;
  if constexpr (sizeof(T) == 2) {
    const auto word = static_cast<uint16_t>(index);
    __builtin_memcpy(&value, &word, sizeof value);
  } else {
    const auto word = static_cast<uint32_t>(index);
    __builtin_memcpy(&value, &word, sizeof value);
  }
  return value;
}

}  // namespace machine::vector

template <typename T>
OPWRIGHT_INLINE T GetReduceRepeatSumSpr() {
  return static_cast<T>(machine::core().registers.reduce_sum);
}
template <typename T>
OPWRIGHT_INLINE void GetReduceRepeatMaxMinSpr(T& maxMinValue) {
  maxMinValue = static_cast<T>(machine::core().registers.reduce_value);
}
template <typename T>
OPWRIGHT_INLINE void GetReduceRepeatMaxMinSpr(T& maxMinValue, T& maxMinIndex) {
  GetReduceRepeatMaxMinSpr(maxMinValue);
  maxMinIndex = machine::vector::index_bits<T>(machine::core().registers.reduce_index);
}
// Their former names.
template <typename T>
OPWRIGHT_INLINE T GetAccVal() {
  return GetReduceRepeatSumSpr<T>();
}
template <typename T>
OPWRIGHT_INLINE void GetReduceMaxMinCount(T& maxMinValue) {
  GetReduceRepeatMaxMinSpr(maxMinValue);
}
template <typename T>
OPWRIGHT_INLINE void GetReduceMaxMinCount(T& maxMinValue, T& maxMinIndex) {
  GetReduceRepeatMaxMinSpr(maxMinValue, maxMinIndex);
}

}  // namespace AscendC
