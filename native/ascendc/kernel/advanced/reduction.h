// native/ascendc/kernel/advanced/reduction.h
// Reductions of the high-level API: over rows (AR) or down columns (RA) of a matrix, sums, means and running sums.
#pragma once

#include <limits>

#include "advanced/operands.h"

namespace AscendC {

namespace Pattern::Reduce {
struct AR {};
struct RA {};
}  // namespace Pattern::Reduce

struct SumParams {
  uint32_t outter = 1;
  uint32_t inner;
  uint32_t n;
};
struct MeanParams {
  uint32_t outter = 1;
  uint32_t inner;
  uint32_t n;
};
enum class CumSumAlgorithm { CUMSUM_ALGORITHM_LINEBYLINE = 0, CUMSUM_ALGORITHM_SKLANSKY = 1 };
struct CumSumConfig {
  bool isLastAxis{true};
  bool isReuseSource{false};
  bool outputLastRow{false};
  CumSumAlgorithm algorithm{CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE};
};
inline constexpr CumSumConfig defaultCumSumConfig{};
struct CumSumInfo {
  uint32_t outter{0};
  uint32_t inner{0};
};

namespace machine::advanced {

template <class T>
using Sum = std::conditional_t<kIsReal<T>, double, int64_t>;

// How elements come together: from `start`, one by one.
template <class T>
struct Adding {
  static constexpr Sum<T> kStart = 0;
  static Sum<T> step(Sum<T> all, T value) { return all + static_cast<Sum<T>>(value); }
};
template <class T>
struct Multiplying {
  static constexpr Sum<T> kStart = 1;
  static Sum<T> step(Sum<T> all, T value) { return all * static_cast<Sum<T>>(value); }
};
template <class T>
struct Largest {
  static constexpr Sum<T> kStart = -std::numeric_limits<double>::infinity();
  static Sum<T> step(Sum<T> all, T value) {
    return static_cast<Sum<T>>(value) > all ? static_cast<Sum<T>>(value) : all;
  }
};
template <class T>
struct Smallest {
  static constexpr Sum<T> kStart = std::numeric_limits<double>::infinity();
  static Sum<T> step(Sum<T> all, T value) {
    return static_cast<Sum<T>>(value) < all ? static_cast<Sum<T>>(value) : all;
  }
};
template <class T>
struct AnyOf {
  static constexpr Sum<T> kStart = 0;
  static Sum<T> step(Sum<T> all, T value) { return all != 0 || value != T{} ? 1 : 0; }
};
template <class T>
struct AllOf {
  static constexpr Sum<T> kStart = 1;
  static Sum<T> step(Sum<T> all, T value) { return all != 0 && value != T{} ? 1 : 0; }
};

template <template <class> class Way, class T, class Pattern>
OPWRIGHT_INLINE void reduce(const char* api, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const uint32_t shape[], bool inner_pad, bool mean) {
  constexpr bool kRows = std::is_same_v<Pattern, AscendC::Pattern::Reduce::AR>;
  static_assert(kRows || std::is_same_v<Pattern, AscendC::Pattern::Reduce::RA>, "the pattern: AR or RA");
  if (!inner_pad) refuse(api, "srcInnerPad is false; allowed on Atlas A2: true");
  const uint32_t rows = shape[0];
  const uint32_t columns = shape[1];
  const uint32_t stride = (columns * sizeof(T) + 31) / 32 * 32 / sizeof(T);
  const uint32_t results = kRows ? rows : columns;
  Call call(api);
  call.in("srcTensor", src, uint64_t{rows} * stride);
  call.out("dstTensor", dst, results);
  for (uint32_t i = 0; i < results; ++i) {
    Sum<T> all = Way<T>::kStart;
    const uint32_t count = kRows ? columns : rows;
    for (uint32_t j = 0; j < count; ++j) {
      all = Way<T>::step(all, src.data()[kRows ? uint64_t{i} * stride + j : uint64_t{j} * stride + i]);
    }
    dst.data()[i] = static_cast<T>(mean ? all / static_cast<Sum<T>>(count) : all);
  }
}

template <class T>
OPWRIGHT_INLINE void sum_rows(const char* api, const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t rows,
                              uint32_t stride, uint32_t count, bool mean) {
  static_assert(kIsReal<PrimT<T>>, "Sum and Mean: half or float");
  if (count > stride || stride * sizeof(T) % 32 != 0) {
    refuse(api, "n is ", count, ", inner ", stride, "; allowed: inner is n rounded up to 32 bytes");
  }
  Call call(api);
  call.in("srcTensor", src, uint64_t{rows} * stride);
  call.out("dstTensor", dst, rows);
  for (uint32_t row = 0; row < rows; ++row) {
    double all = 0;
    for (uint32_t i = 0; i < count; ++i) all += static_cast<double>(src.data()[uint64_t{row} * stride + i]);
    dst.data()[row] = static_cast<T>(static_cast<float>(mean ? all / count : all));
  }
}

}  // namespace machine::advanced

#define OPWRIGHT_REDUCTION(name, way, mean)                                                                           \
  template <class T, class pattern, bool isReuseSource = false>                                                       \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,                         \
                            const uint32_t srcShape[], bool srcInnerPad) {                                            \
    machine::advanced::reduce<machine::advanced::way, T, pattern>(#name, dstTensor, srcTensor, srcShape, srcInnerPad, \
                                                                  mean);                                              \
  }                                                                                                                   \
  template <class T, class pattern, bool isReuseSource = false>                                                       \
  OPWRIGHT_INLINE void name(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,                         \
                            const LocalTensor<uint8_t>&, const uint32_t srcShape[], bool srcInnerPad) {               \
    name<T, pattern, isReuseSource>(dstTensor, srcTensor, srcShape, srcInnerPad);                                     \
  }
OPWRIGHT_REDUCTION(ReduceSum, Adding, false)
OPWRIGHT_REDUCTION(ReduceMean, Adding, true)
OPWRIGHT_REDUCTION(ReduceProd, Multiplying, false)
OPWRIGHT_REDUCTION(ReduceMax, Largest, false)
OPWRIGHT_REDUCTION(ReduceMin, Smallest, false)
OPWRIGHT_REDUCTION(ReduceAny, AnyOf, false)
OPWRIGHT_REDUCTION(ReduceAll, AllOf, false)
#undef OPWRIGHT_REDUCTION

template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
OPWRIGHT_INLINE void Sum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const SumParams& sumParams) {
  machine::advanced::sum_rows("Sum", dstTensor, srcTensor, sumParams.outter, sumParams.inner, sumParams.n, false);
}
template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
OPWRIGHT_INLINE void Sum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>&,
                         const SumParams& sumParams) {
  Sum<T>(dstTensor, srcTensor, sumParams);
}
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
OPWRIGHT_INLINE void Mean(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
                          const MeanParams& meanParams) {
  machine::advanced::sum_rows("Mean", dstTensor, srcTensor, meanParams.outter, meanParams.inner, meanParams.n, true);
}
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
OPWRIGHT_INLINE void Mean(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>&,
                          const MeanParams& meanParams) {
  Mean<T, accType>(dstTensor, srcTensor, meanParams);
}

template <typename T, const CumSumConfig& config = defaultCumSumConfig>
OPWRIGHT_INLINE void CumSum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& lastRowTensor,
                            const LocalTensor<T>& srcTensor, const CumSumInfo& cumSumInfo) {
  using namespace machine::advanced;
  static_assert(kIsReal<PrimT<T>>, "CumSum: half or float");
  const uint32_t rows = cumSumInfo.outter;
  const uint32_t columns = cumSumInfo.inner;
  Call call("CumSum");
  call.in("srcTensor", srcTensor, uint64_t{rows} * columns);
  call.out("dstTensor", dstTensor, uint64_t{rows} * columns);
  if (config.outputLastRow) call.out("lastRowTensor", lastRowTensor, columns);
  const uint32_t lines = config.isLastAxis ? rows : columns;
  const uint32_t steps = config.isLastAxis ? columns : rows;
  for (uint32_t line = 0; line < lines; ++line) {
    float all = 0.0f;
    for (uint32_t step = 0; step < steps; ++step) {
      const uint64_t index = config.isLastAxis ? uint64_t{line} * columns + step : uint64_t{step} * columns + line;
      all += static_cast<float>(srcTensor.data()[index]);
      dstTensor.data()[index] = static_cast<T>(all);
    }
  }
  if (config.outputLastRow && rows > 0) {
    for (uint32_t c = 0; c < columns; ++c) {
      lastRowTensor.data()[c] = dstTensor.data()[uint64_t{rows - 1} * columns + c];
    }
  }
}
template <typename T, const CumSumConfig& config = defaultCumSumConfig>
OPWRIGHT_INLINE void CumSum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& lastRowTensor,
                            const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>&,
                            const CumSumInfo& cumSumInfo) {
  CumSum<T, config>(dstTensor, lastRowTensor, srcTensor, cumSumInfo);
}

}  // namespace AscendC
