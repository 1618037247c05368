// native/ascendc/kernel/advanced/softmax_flash_v3.h
// SoftmaxFlashV3: softmax over parts of rows that are shifted by the means of their blocks (PASA).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "advanced/operands.h"
#include "advanced/softmax.h"

namespace AscendC {

struct SoftMaxParams {
  uint32_t srcM;
  uint32_t srcK;
  uint32_t oriSrcM;
  uint32_t oriSrcK;
  uint32_t loopCnt;
  uint32_t splitMeanCnt;
  float alpha;
};

namespace machine::advanced {

inline constexpr uint32_t kParts = 8;      // of a row, each with a mean of its own
inline constexpr uint32_t kRepeat = 64;    // floats of an instruction
inline constexpr uint32_t kStatistic = 8;  // floats that hold a row's statistic

// The means of a row's parts, as the documentation's formula takes them: a part's 64 elements of the first 512, and of
// each further 64 the eight of its number.
inline void means_of_parts(const std::vector<float>& row, float (&means)[kParts]) {
  for (uint32_t part = 0; part < kParts; ++part) {
    float sums[kParts];
    for (uint32_t lane = 0; lane < kParts; ++lane) {
      const uint32_t at = part * kParts + lane;
      float sum = 0;
      for (uint32_t i = 0; i < kParts; ++i) sum += row[at * kParts + i];
      for (size_t i = kParts * kRepeat + at; i < row.size(); i += kRepeat) sum += row[i];
      sums[lane] = sum;
    }
    float sum = 0;
    for (const float each : sums) sum += each;
    means[part] = sum / static_cast<float>(row.size() / kParts);
  }
}

struct FlashV3Row {
  float mean, sum, maximum;  // in: of the parts before; out: with this part
  float factor;              // of what was computed with the maximum before
};

// Makes a row its exponentials.
inline void softmax_flash_v3(std::vector<float>& row, FlashV3Row& state, bool update, const SoftMaxParams& params) {
  const float scale = params.alpha / (1 - params.alpha);
  float means[kParts];
  means_of_parts(row, means);
  float mean = 0;
  for (const float each : means) mean += each;
  mean /= kParts;
  const size_t length = row.size() / kParts;
  for (size_t i = 0; i < row.size(); ++i) row[i] -= (mean - means[i / length]) * scale;
  const float loops = static_cast<float>(params.loopCnt);
  const float whole = update ? (mean + state.mean * (loops - 1)) / loops : mean;
  const float shift = (mean - whole) * scale;
  const float shift_before = update ? (state.mean - whole) * scale : 0;
  float maximum = shift + *std::max_element(row.begin(), row.end());
  if (update) maximum = std::max(maximum, shift_before + state.maximum);
  float sum = 0;
  for (float& each : row) {
    each = std::exp(each - (maximum - shift));
    sum += each;
  }
  if (update) {
    state.factor = std::exp(state.maximum - maximum + shift_before);
    sum += state.factor * state.sum;
  }
  state.mean = whole;
  state.sum = sum;
  state.maximum = maximum;
}

}  // namespace machine::advanced

template <typename T, typename U, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
OPWRIGHT_INLINE void SoftmaxFlashV3(const LocalTensor<T>& dstTensor, const LocalTensor<U>& meanTensor,
                                    const LocalTensor<U>& expSumTensor, const LocalTensor<U>& maxTensor,
                                    const LocalTensor<T>& srcTensor, const LocalTensor<T>& expMaxTensor,
                                    const LocalTensor<U>& inMeanTensor, const LocalTensor<U>& inExpSumTensor,
                                    const LocalTensor<U>& inMaxTensor, const SoftMaxTiling&,
                                    const SoftMaxParams& params) {
  using namespace machine::advanced;
  static_assert(std::is_same_v<T, half> && std::is_same_v<U, float>, "SoftmaxFlashV3: half and float");
  static_assert(!isDataFormatNZ, "SoftmaxFlashV3: ND alone");
  const uint32_t columns = params.srcK;
  if (columns < kParts * kRepeat || columns % kRepeat != 0 || params.srcM % 8 != 0 || params.splitMeanCnt != kParts ||
      params.oriSrcM != params.srcM || params.oriSrcK != columns || (isUpdate && params.loopCnt == 0)) {
    machine::refuse("SoftmaxFlashV3", params.srcM, " x ", columns, ", splitMeanCnt ", params.splitMeanCnt, ", loopCnt ",
                    params.loopCnt, "; allowed: rows in eights, at least 512 columns in 64s, ",
                    "oriSrcM and oriSrcK the same, splitMeanCnt 8, loopCnt from 1");
  }
  const uint64_t elements = uint64_t{params.srcM} * columns;
  const uint64_t statistics = uint64_t{params.srcM} * kStatistic;
  constexpr uint32_t kFactors = 32 / sizeof(T);
  Call call("SoftmaxFlashV3");
  call.in("srcTensor", srcTensor, elements);
  if constexpr (isUpdate) {
    call.in("inMeanTensor", inMeanTensor, statistics);
    call.in("inExpSumTensor", inExpSumTensor, statistics);
    call.in("inMaxTensor", inMaxTensor, statistics);
    call.out("expMaxTensor", expMaxTensor, uint64_t{params.srcM} * kFactors);
  }
  call.out("meanTensor", meanTensor, statistics);
  call.out("expSumTensor", expSumTensor, statistics);
  call.out("maxTensor", maxTensor, statistics);
  call.out("dstTensor", dstTensor, elements);
  std::vector<float> row(columns);
  for (uint32_t i = 0; i < params.srcM; ++i) {
    const uint64_t first = uint64_t{i} * columns;
    for (uint32_t k = 0; k < columns; ++k) row[k] = static_cast<float>(srcTensor.data()[first + k]);
    const uint64_t at = uint64_t{i} * kStatistic;
    FlashV3Row state{};
    if constexpr (isUpdate) {
      state = {inMeanTensor.data()[at], inExpSumTensor.data()[at], inMaxTensor.data()[at], 0};
    }
    softmax_flash_v3(row, state, isUpdate, params);
    for (uint32_t k = 0; k < columns; ++k) dstTensor.data()[first + k] = static_cast<T>(row[k]);
    std::fill_n(meanTensor.data() + at, kStatistic, state.mean);
    std::fill_n(expSumTensor.data() + at, kStatistic, state.sum);
    std::fill_n(maxTensor.data() + at, kStatistic, state.maximum);
    if constexpr (isUpdate) {
      std::fill_n(expMaxTensor.data() + uint64_t{i} * kFactors, kFactors, static_cast<T>(state.factor));
    }
  }
}
template <typename T, typename U, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
OPWRIGHT_INLINE void SoftmaxFlashV3(const LocalTensor<T>& dstTensor, const LocalTensor<U>& meanTensor,
                                    const LocalTensor<U>& expSumTensor, const LocalTensor<U>& maxTensor,
                                    const LocalTensor<T>& srcTensor, const LocalTensor<T>& expMaxTensor,
                                    const LocalTensor<U>& inMeanTensor, const LocalTensor<U>& inExpSumTensor,
                                    const LocalTensor<U>& inMaxTensor, const LocalTensor<uint8_t>&,
                                    const SoftMaxTiling& tiling, const SoftMaxParams& params) {
  SoftmaxFlashV3<T, U, isUpdate, isReuseSource, isBasicBlock, isDataFormatNZ, config>(
      dstTensor, meanTensor, expSumTensor, maxTensor, srcTensor, expMaxTensor, inMeanTensor, inExpSumTensor,
      inMaxTensor, tiling, params);
}

}  // namespace AscendC
