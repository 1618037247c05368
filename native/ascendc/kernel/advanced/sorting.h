// native/ascendc/kernel/advanced/sorting.h
// Sorting of the high-level API: TopK; Sort of (score, index) pairs of 8 bytes with Concat and Extract.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "advanced/operands.h"
#include "advanced/tilings.h"

namespace AscendC {

enum class TopKMode { TOPK_NORMAL = 0, TOPK_NSMALL };
enum class TopKAlgo { RADIX_SELECT, MERGE_SORT };
enum class TopKOrder { UNSET, LARGEST, SMALLEST };
struct TopKConfig {
  TopKAlgo algo = TopKAlgo::MERGE_SORT;
  TopKOrder order = TopKOrder::UNSET;
  bool sorted = true;
};
inline constexpr TopKConfig defaultTopKConfig{};
struct TopKInfo {
  int32_t outter = 1;
  int32_t inner;
  int32_t n;
};

namespace machine::advanced {

struct Scored {
  float score;
  uint32_t index;
};
// NaN first, then by score; equal ones keep their order.
inline void sort_scores(Scored* first, Scored* last, bool largest) {
  std::stable_sort(first, last, [largest](const Scored& a, const Scored& b) {
    if (std::isnan(a.score) || std::isnan(b.score)) return std::isnan(a.score) && !std::isnan(b.score);
    return largest ? a.score > b.score : a.score < b.score;
  });
}

inline constexpr uint32_t kPairBytes = 8;
inline constexpr uint32_t kPairsAtOnce = 32;

template <class T>
OPWRIGHT_INLINE void put_pair(T* pairs, uint32_t place, const Scored& scored) {
  uint8_t* at = reinterpret_cast<uint8_t*>(pairs) + uint64_t{place} * kPairBytes;
  const T score = static_cast<T>(scored.score);
  __builtin_memset(at, 0, kPairBytes);
  __builtin_memcpy(at, &score, sizeof score);
  __builtin_memcpy(at + 4, &scored.index, sizeof scored.index);
}

}  // namespace machine::advanced

template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          enum TopKMode topkMode = TopKMode::TOPK_NORMAL, const TopKConfig& config = defaultTopKConfig>
OPWRIGHT_INLINE void TopK(const LocalTensor<T>& dstValueLocal, const LocalTensor<int32_t>& dstIndexLocal,
                          const LocalTensor<T>& srcLocal, const LocalTensor<int32_t>& srcIndexLocal,
                          const LocalTensor<bool>& finishLocal, const int32_t k, const TopkTiling&,
                          const TopKInfo& topKInfo, const bool isLargest = true) {
  using namespace machine::advanced;
  static_assert(kIsReal<PrimT<T>>, "TopK: half or float on Atlas A2");
  constexpr bool kSmall = topkMode == TopKMode::TOPK_NSMALL;
  const auto rows = static_cast<uint32_t>(topKInfo.outter);
  const auto stride = static_cast<uint32_t>(topKInfo.inner);
  const auto count = static_cast<uint32_t>(topKInfo.n);
  const auto wanted = static_cast<uint32_t>(k);
  if (k < 1 || wanted > count || count > stride || stride % 32 != 0 || (kSmall && stride != 32)) {
    machine::refuse("TopK", "k is ", k, ", n ", topKInfo.n, ", inner ", topKInfo.inner,
                    "; allowed: 1 <= k <= n <= inner, inner a multiple of 32 (32 itself in small mode)");
  }
  constexpr uint32_t kBlock = 32 / sizeof(T);
  const uint32_t value_stride = kSmall ? wanted : (wanted + kBlock - 1) / kBlock * kBlock;
  const uint32_t index_stride = kSmall ? wanted : (wanted + 7) / 8 * 8;
  Call call("TopK");
  call.in("srcLocal", srcLocal, uint64_t{rows} * stride);
  if (isInitIndex) call.in("srcIndexLocal", srcIndexLocal, uint64_t{kSmall ? rows : 1} * stride);
  if (isHasfinish) call.in("finishLocal", finishLocal, rows);
  call.out("dstValueLocal", dstValueLocal, uint64_t{rows} * value_stride);
  call.out("dstIndexLocal", dstIndexLocal, uint64_t{rows} * index_stride);
  std::vector<Scored> row(count);
  for (uint32_t i = 0; i < rows; ++i) {
    for (uint32_t j = 0; j < count; ++j) {
      const uint64_t index = (kSmall ? uint64_t{i} * stride : 0) + j;
      row[j] = {static_cast<float>(srcLocal.data()[uint64_t{i} * stride + j]),
                isInitIndex ? static_cast<uint32_t>(srcIndexLocal.data()[index]) : j};
    }
    sort_scores(row.data(), row.data() + count, isLargest);
    bool finished = false;
    if constexpr (isHasfinish) finished = finishLocal.data()[i];
    for (uint32_t j = 0; j < wanted; ++j) {
      dstValueLocal.data()[uint64_t{i} * value_stride + j] = static_cast<T>(row[j].score);
      dstIndexLocal.data()[uint64_t{i} * index_stride + j] = finished ? topKInfo.n : static_cast<int32_t>(row[j].index);
    }
  }
}
template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          enum TopKMode topkMode = TopKMode::TOPK_NORMAL, const TopKConfig& config = defaultTopKConfig>
OPWRIGHT_INLINE void TopK(const LocalTensor<T>& dstValueLocal, const LocalTensor<int32_t>& dstIndexLocal,
                          const LocalTensor<T>& srcLocal, const LocalTensor<int32_t>& srcIndexLocal,
                          const LocalTensor<bool>& finishLocal, const LocalTensor<uint8_t>&, const int32_t k,
                          const TopkTiling& tilling, const TopKInfo& topKInfo, const bool isLargest = true) {
  TopK<T, isInitIndex, isHasfinish, isReuseSrc, topkMode, config>(dstValueLocal, dstIndexLocal, srcLocal, srcIndexLocal,
                                                                  finishLocal, k, tilling, topKInfo, isLargest);
}

// Atlas A2 sorts the scores where they are.
template <typename T>
OPWRIGHT_INLINE void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t) {
  concat = src;
}

// 32 scores in each repeat, from large to small; with isFullSort all of them together.
template <typename T, bool isFullSort>
OPWRIGHT_INLINE void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat, const LocalTensor<uint32_t>& index,
                          const LocalTensor<T>& tmp, const int32_t repeatTime) {
  using namespace machine::advanced;
  static_assert(kIsReal<PrimT<T>>, "Sort: half or float");
  static_cast<void>(tmp);
  const uint32_t count = static_cast<uint32_t>(repeatTime) * kPairsAtOnce;
  Call call("Sort");
  call.in("concat", concat, count);
  call.in("index", index, count);
  call.out("dst", dst, uint64_t{count} * kPairBytes / sizeof(T));
  std::vector<Scored> all(count);
  for (uint32_t i = 0; i < count; ++i) all[i] = {static_cast<float>(concat.data()[i]), index.data()[i]};
  const uint32_t together = isFullSort ? count : kPairsAtOnce;
  for (uint32_t start = 0; start < count; start += together) {
    sort_scores(all.data() + start, all.data() + start + together, true);
  }
  for (uint32_t i = 0; i < count; ++i) put_pair(dst.data(), i, all[i]);
}

template <typename T>
OPWRIGHT_INLINE void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex,
                             const LocalTensor<T>& sorted, const int32_t repeatTime) {
  using namespace machine::advanced;
  const uint32_t count = static_cast<uint32_t>(repeatTime) * kPairsAtOnce;
  Call call("Extract");
  call.in("sorted", sorted, uint64_t{count} * kPairBytes / sizeof(T));
  call.out("dstValue", dstValue, count);
  call.out("dstIndex", dstIndex, count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint8_t* at = reinterpret_cast<const uint8_t*>(sorted.data()) + uint64_t{i} * kPairBytes;
    __builtin_memcpy(dstValue.data() + i, at, sizeof(T));
    __builtin_memcpy(dstIndex.data() + i, at + 4, sizeof(uint32_t));
  }
}

// Elements of T that pairs take.
template <typename T>
OPWRIGHT_INLINE uint32_t GetSortOffset(const uint32_t elemOffset) {
  return elemOffset * machine::advanced::kPairBytes / sizeof(T);
}
template <typename T>
OPWRIGHT_INLINE uint32_t GetSortLen(const uint32_t elemCount) {
  return elemCount * machine::advanced::kPairBytes / sizeof(T);
}

}  // namespace AscendC
