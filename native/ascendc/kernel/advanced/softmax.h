// native/ascendc/kernel/advanced/softmax.h
// SoftMax and related functions over the rows of a matrix. Sums and maxima take a block of 32 bytes for each row, all
// elements of it alike, unless SoftmaxMode says otherwise.
#pragma once

#include "advanced/operands.h"
#include "advanced/tilings.h"

namespace AscendC {

enum class SoftmaxMode { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };
struct SoftmaxConfig {
  bool isCheckTiling = true;
  uint32_t oriSrcM = 0;
  uint32_t oriSrcK = 0;
  SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};
inline constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {true, 0, 0, SoftmaxMode::SOFTMAX_NORMAL};

struct SoftMaxShapeInfo {
  uint32_t srcM = 0;
  uint32_t srcK = 0;
  uint32_t oriSrcM = 0;
  uint32_t oriSrcK = 0;
};

namespace machine::advanced {

// A matrix by rows; in fractals, 16 columns of all rows follow each other.
struct Rows {
  Run run;
  uint32_t stride = 0;
  bool fractals = false;
};

enum class SoftmaxKind : uint8_t { kSoftMax, kLog, kFlash, kFlashV2, kSimple };
struct Softmax {
  SoftmaxKind kind;
  bool update;
  uint32_t rows;
  uint32_t columns;
  Rows dst, src;
  // Without data: not wanted.
  Run sum, max, exp_max, in_sum, in_max, reduce_max;
  bool one_each;  // sums and maxima take one element a row
};
OPWRIGHT_RUNTIME void compute_softmax(const Softmax& softmax);

// dst = (grad - sum(grad * src)) * src, or the sum alone, in blocks of 32 bytes.
OPWRIGHT_RUNTIME void compute_softmax_grad(const Rows& dst, const Rows& grad, const Rows& src, uint32_t rows,
                                           uint32_t columns, bool front);
// Rows whose maximum has these bits become `value`. Whether there was one.
OPWRIGHT_RUNTIME bool adjust_softmax(const Rows& result, Run max, uint32_t max_stride, uint32_t rows, uint32_t columns,
                                     uint32_t from, float value);

struct SoftmaxShape {
  uint32_t rows, stride, columns;
  uint64_t elements() const { return uint64_t{rows} * stride; }
};
template <class Tiling>
OPWRIGHT_INLINE SoftmaxShape softmax_shape(const char* api, const Tiling& tiling, const SoftMaxShapeInfo& info,
                                           const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG) {
  const uint32_t rows = info.srcM != 0 ? info.srcM : tiling.srcM;
  const uint32_t stride = info.srcK != 0 ? info.srcK : tiling.srcK;
  uint32_t columns = info.oriSrcK != 0 ? info.oriSrcK : stride;
  if (config.oriSrcK != 0) columns = config.oriSrcK;
  if (rows == 0 || stride == 0 || columns > stride) {
    refuse(api, "srcM is ", rows, ", srcK ", stride, ", oriSrcK ", columns,
           "; allowed: 1 and more, oriSrcK at most srcK. They come from the tiling or from softmaxShapeInfo");
  }
  return {rows, stride, columns};
}

// One call with all its operands; an operand that a form does not have is null.
template <class T, class S>
struct SoftmaxOperands {
  const LocalTensor<T>* dst;
  const LocalTensor<T>* src;
  const LocalTensor<S>* sum = nullptr;
  const LocalTensor<S>* max = nullptr;
  const LocalTensor<T>* exp_max = nullptr;
  const LocalTensor<S>* in_sum = nullptr;
  const LocalTensor<S>* in_max = nullptr;
  const LocalTensor<S>* reduce_max = nullptr;
  const LocalTensor<uint8_t>* temporary = nullptr;
};

template <class T, class S>
OPWRIGHT_INLINE void softmax(const char* api, SoftmaxKind kind, bool update, bool fractals, bool one_each,
                             const SoftmaxShape& shape, const SoftmaxOperands<T, S>& operands) {
  static_assert(kIsReal<PrimT<T>> && kIsReal<PrimT<S>>, "SoftMax: half and float on Atlas A2");
  Call call(api);
  const auto length = [&](uint32_t size) { return uint64_t{shape.rows} * (one_each ? 1 : 32 / size); };
  Softmax work{kind, update, shape.rows, shape.columns, {}, {}, {}, {}, {}, {}, {}, {}, one_each};
  work.src = {call.in("srcTensor", *operands.src, shape.elements()), shape.stride, fractals};
  if (update || kind == SoftmaxKind::kSimple) {
    work.in_sum = call.in("inSumTensor", *operands.in_sum, length(sizeof(S)));
    work.in_max = call.in("inMaxTensor", *operands.in_max, length(sizeof(S)));
  }
  work.dst = {call.out("dstTensor", *operands.dst, shape.elements()), shape.stride, fractals};
  if (operands.sum != nullptr) work.sum = call.out("sumTensor", *operands.sum, length(sizeof(S)));
  if (operands.max != nullptr) work.max = call.out("maxTensor", *operands.max, length(sizeof(S)));
  if (update && operands.exp_max != nullptr) {
    work.exp_max = call.out("expMaxTensor", *operands.exp_max, length(sizeof(T)));
  }
  if (update && operands.reduce_max != nullptr) {
    work.reduce_max = call.out("outReduceMax", *operands.reduce_max, length(sizeof(S)));
  }
  if (operands.temporary != nullptr) call.temporary(*operands.temporary);
  compute_softmax(work);
}

}  // namespace machine::advanced

// ---- SoftMax

template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename D, typename S>
OPWRIGHT_INLINE void SoftMax(const LocalTensor<D>& dstTensor, const LocalTensor<S>& sumTensor,
                             const LocalTensor<S>& maxTensor, const LocalTensor<D>& srcTensor,
                             const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  softmax("SoftMax", SoftmaxKind::kSoftMax, false, isDataFormatNZ, config.mode != SoftmaxMode::SOFTMAX_NORMAL,
          softmax_shape("SoftMax", tiling, softmaxShapeInfo, config),
          SoftmaxOperands<D, S>{&dstTensor, &srcTensor, &sumTensor, &maxTensor});
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename D, typename S>
OPWRIGHT_INLINE void SoftMax(const LocalTensor<D>& dstTensor, const LocalTensor<S>& sumTensor,
                             const LocalTensor<S>& maxTensor, const LocalTensor<D>& srcTensor,
                             const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling,
                             const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  softmax("SoftMax", SoftmaxKind::kSoftMax, false, isDataFormatNZ, config.mode != SoftmaxMode::SOFTMAX_NORMAL,
          softmax_shape("SoftMax", tiling, softmaxShapeInfo, config),
          SoftmaxOperands<D, S>{&dstTensor, &srcTensor, &sumTensor, &maxTensor, nullptr, nullptr, nullptr, nullptr,
                                &sharedTmpBuffer});
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
OPWRIGHT_INLINE void SoftMax(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
                             const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  softmax("SoftMax", SoftmaxKind::kSoftMax, false, false, false,
          softmax_shape("SoftMax", tiling, softmaxShapeInfo, config), SoftmaxOperands<T, T>{&dstTensor, &srcTensor});
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
OPWRIGHT_INLINE void SoftMax(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
                             const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling,
                             const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  softmax("SoftMax", SoftmaxKind::kSoftMax, false, false, false,
          softmax_shape("SoftMax", tiling, softmaxShapeInfo, config),
          SoftmaxOperands<T, T>{&dstTensor, &srcTensor, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                &sharedTmpBuffer});
}

// exp(src - max) / sum of given sums and maxima
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename D, typename S>
OPWRIGHT_INLINE void SimpleSoftMax(const LocalTensor<D>& dstTensor, const LocalTensor<S>& inSumTensor,
                                   const LocalTensor<S>& inMaxTensor, const LocalTensor<D>& srcTensor,
                                   const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  softmax("SimpleSoftMax", SoftmaxKind::kSimple, false, isDataFormatNZ, config.mode != SoftmaxMode::SOFTMAX_NORMAL,
          softmax_shape("SimpleSoftMax", tiling, softmaxShapeInfo, config),
          SoftmaxOperands<D, S>{&dstTensor, &srcTensor, nullptr, nullptr, nullptr, &inSumTensor, &inMaxTensor});
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename D, typename S>
OPWRIGHT_INLINE void SimpleSoftMax(const LocalTensor<D>& dstTensor, const LocalTensor<S>& inSumTensor,
                                   const LocalTensor<S>& inMaxTensor, const LocalTensor<D>& srcTensor,
                                   const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling,
                                   const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  softmax("SimpleSoftMax", SoftmaxKind::kSimple, false, isDataFormatNZ, config.mode != SoftmaxMode::SOFTMAX_NORMAL,
          softmax_shape("SimpleSoftMax", tiling, softmaxShapeInfo, config),
          SoftmaxOperands<D, S>{&dstTensor, &srcTensor, nullptr, nullptr, nullptr, &inSumTensor, &inMaxTensor, nullptr,
                                &sharedTmpBuffer});
}

// The documentation's formula has the logarithm to base 10.
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
OPWRIGHT_INLINE void LogSoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& sum, const LocalTensor<T>& max,
                                const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer,
                                const LogSoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  softmax("LogSoftMax", SoftmaxKind::kLog, false, isDataFormatNZ, false,
          softmax_shape("LogSoftMax", tiling, softmaxShapeInfo),
          SoftmaxOperands<T, T>{&dst, &src, &sum, &max, nullptr, nullptr, nullptr, nullptr, &sharedTmpBuffer});
}

// ---- SoftmaxFlash: rows that come in parts

template <typename T, bool isReuseSource = false, bool isBasicBlock = false, typename D, typename S>
OPWRIGHT_INLINE void SoftmaxFlash(const LocalTensor<D>& dstTensor, const LocalTensor<S>& sumTensor,
                                  const LocalTensor<S>& maxTensor, const LocalTensor<D>& srcTensor,
                                  const LocalTensor<D>& expMaxTensor, const LocalTensor<S>& inSumTensor,
                                  const LocalTensor<S>& inMaxTensor, const SoftMaxTiling& tiling, bool isUpdate = false,
                                  const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  softmax(
      "SoftmaxFlash", SoftmaxKind::kFlash, isUpdate, false, false,
      softmax_shape("SoftmaxFlash", tiling, softmaxShapeInfo),
      SoftmaxOperands<D, S>{&dstTensor, &srcTensor, &sumTensor, &maxTensor, &expMaxTensor, &inSumTensor, &inMaxTensor});
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, typename D, typename S>
OPWRIGHT_INLINE void SoftmaxFlash(const LocalTensor<D>& dstTensor, const LocalTensor<S>& sumTensor,
                                  const LocalTensor<S>& maxTensor, const LocalTensor<D>& srcTensor,
                                  const LocalTensor<D>& expMaxTensor, const LocalTensor<S>& inSumTensor,
                                  const LocalTensor<S>& inMaxTensor, const LocalTensor<uint8_t>& sharedTmpBuffer,
                                  const SoftMaxTiling& tiling, bool isUpdate = false,
                                  const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  softmax("SoftmaxFlash", SoftmaxKind::kFlash, isUpdate, false, false,
          softmax_shape("SoftmaxFlash", tiling, softmaxShapeInfo),
          SoftmaxOperands<D, S>{&dstTensor, &srcTensor, &sumTensor, &maxTensor, &expMaxTensor, &inSumTensor,
                                &inMaxTensor, nullptr, &sharedTmpBuffer});
}

template <typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename D, typename S>
OPWRIGHT_INLINE void SoftmaxFlashV2(const LocalTensor<D>& dstTensor, const LocalTensor<S>& expSumTensor,
                                    const LocalTensor<S>& maxTensor, const LocalTensor<D>& srcTensor,
                                    const LocalTensor<D>& expMaxTensor, const LocalTensor<S>& inExpSumTensor,
                                    const LocalTensor<S>& inMaxTensor, const SoftMaxTiling& tiling,
                                    const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  softmax("SoftmaxFlashV2", SoftmaxKind::kFlashV2, isUpdate, isDataFormatNZ, config.mode != SoftmaxMode::SOFTMAX_NORMAL,
          softmax_shape("SoftmaxFlashV2", tiling, softmaxShapeInfo, config),
          SoftmaxOperands<D, S>{&dstTensor, &srcTensor, &expSumTensor, &maxTensor, &expMaxTensor, &inExpSumTensor,
                                &inMaxTensor});
}
template <typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename D, typename S>
OPWRIGHT_INLINE void SoftmaxFlashV2(const LocalTensor<D>& dstTensor, const LocalTensor<S>& expSumTensor,
                                    const LocalTensor<S>& maxTensor, const LocalTensor<D>& srcTensor,
                                    const LocalTensor<D>& expMaxTensor, const LocalTensor<S>& inExpSumTensor,
                                    const LocalTensor<S>& inMaxTensor, const LocalTensor<uint8_t>& sharedTmpBuffer,
                                    const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  softmax("SoftmaxFlashV2", SoftmaxKind::kFlashV2, isUpdate, isDataFormatNZ, config.mode != SoftmaxMode::SOFTMAX_NORMAL,
          softmax_shape("SoftmaxFlashV2", tiling, softmaxShapeInfo, config),
          SoftmaxOperands<D, S>{&dstTensor, &srcTensor, &expSumTensor, &maxTensor, &expMaxTensor, &inExpSumTensor,
                                &inMaxTensor, nullptr, &sharedTmpBuffer});
}
// With the maxima of this part of the rows.
template <typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
OPWRIGHT_INLINE void SoftmaxFlashV2(const LocalTensor<T>& dstTensor, const LocalTensor<T>& outReduceMax,
                                    const LocalTensor<T>& outExpSum, const LocalTensor<T>& outMax,
                                    const LocalTensor<T>& srcTensor, const LocalTensor<T>& outExpMax,
                                    const LocalTensor<T>& inExpSum, const LocalTensor<T>& inMax,
                                    const LocalTensor<uint8_t>& sharedTmpBuffer, const SoftMaxTiling& tiling,
                                    const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  if (config.mode == SoftmaxMode::SOFTMAX_NORMAL) {
    machine::refuse("SoftmaxFlashV2", "outReduceMax with SOFTMAX_NORMAL, which does nothing on the device; ",
                    "allowed: SOFTMAX_OUTPUT_WITHOUT_BRC");
  }
  softmax("SoftmaxFlashV2", SoftmaxKind::kFlashV2, isUpdate, isDataFormatNZ, true,
          softmax_shape("SoftmaxFlashV2", tiling, softmaxShapeInfo, config),
          SoftmaxOperands<T, T>{&dstTensor, &srcTensor, &outExpSum, &outMax, &outExpMax, &inExpSum, &inMax,
                                &outReduceMax, &sharedTmpBuffer});
}

constexpr SoftMaxTiling SoftMaxFlashV2TilingFunc(const SoftMaxShapeInfo& shapeInfo, const uint32_t, const uint32_t,
                                                 const uint32_t, const bool = false, const bool = false,
                                                 const bool = false, const bool = false) {
  SoftMaxTiling tiling;
  tiling.srcM = shapeInfo.srcM;
  tiling.srcK = shapeInfo.srcK;
  return tiling;
}

// ---- gradients

template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
OPWRIGHT_INLINE void SoftmaxGrad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& gradTensor,
                                 const LocalTensor<T>& srcTensor, const SoftMaxTiling& tiling, bool isFront = false,
                                 const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  using namespace machine::advanced;
  const SoftmaxShape shape = softmax_shape("SoftmaxGrad", tiling, softmaxShapeInfo);
  Call call("SoftmaxGrad");
  const Rows grad{call.in("gradTensor", gradTensor, shape.elements()), shape.stride, isDataFormatNZ};
  const Rows src{call.in("srcTensor", srcTensor, shape.elements()), shape.stride, isDataFormatNZ};
  const uint32_t width = isFront ? 32 / sizeof(PrimT<T>) : shape.stride;
  const Rows dst{call.out("dstTensor", dstTensor, uint64_t{shape.rows} * width), width, isDataFormatNZ && !isFront};
  compute_softmax_grad(dst, grad, src, shape.rows, shape.columns, isFront);
}
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
OPWRIGHT_INLINE void SoftmaxGrad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& gradTensor,
                                 const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>&,
                                 const SoftMaxTiling& tiling, bool isFront = false,
                                 const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  SoftmaxGrad<T, isReuseSource, isDataFormatNZ>(dstTensor, gradTensor, srcTensor, tiling, isFront, softmaxShapeInfo);
}
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>
OPWRIGHT_INLINE void SoftmaxGradFront(const LocalTensor<T>& dstTensor, const LocalTensor<T>& gradTensor,
                                      const LocalTensor<T>& srcTensor, const SoftMaxTiling& tiling,
                                      const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  SoftmaxGrad<T, false, isDataFormatNZ>(dstTensor, gradTensor, srcTensor, tiling, true, softmaxShapeInfo);
}
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>
OPWRIGHT_INLINE void SoftmaxGradFront(const LocalTensor<T>& dstTensor, const LocalTensor<T>& gradTensor,
                                      const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>&,
                                      const SoftMaxTiling& tiling, const SoftMaxShapeInfo& softmaxShapeInfo = {}) {
  SoftmaxGrad<T, false, isDataFormatNZ>(dstTensor, gradTensor, srcTensor, tiling, true, softmaxShapeInfo);
}

template <typename T1, typename T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
OPWRIGHT_INLINE bool AdjustSoftMaxRes(const LocalTensor<T1>& softMaxRes, const LocalTensor<T2>& maxTensor,
                                      const uint32_t from, const T1 to, const SoftMaxShapeInfo& softmaxShapeInfo) {
  using namespace machine::advanced;
  const SoftmaxShape shape = softmax_shape("AdjustSoftMaxRes", SoftMaxTiling{}, softmaxShapeInfo);
  constexpr uint32_t kStep = stepSizeMode == 0 ? 32 / sizeof(T2) : 1;
  Call call("AdjustSoftMaxRes");
  const Run max = call.in("maxTensor", maxTensor, uint64_t{shape.rows} * kStep);
  const Rows result{call.out("softMaxRes", softMaxRes, shape.elements()), shape.stride, isDataFormatNZ};
  return adjust_softmax(result, max, kStep, shape.rows, shape.columns, from, static_cast<float>(to));
}

}  // namespace AscendC
