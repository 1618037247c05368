// native/ascendc/kernel/advanced/welford.h
// Welford's way to a mean and a variance: WelfordUpdate takes parts of a row one after the other, WelfordFinalize
// brings their results together.
#pragma once

#include "advanced/operands.h"

namespace AscendC {

struct WelfordUpdateConfig {
  bool isInplace = false;
};
inline constexpr WelfordUpdateConfig WFUPDATE_DEFAULT_CFG{false};
struct WelfordUpdateParam {
  uint32_t rnLength;
  uint32_t abLength;
  uint32_t abComputeLength;
  float nRec;
};
struct WelfordFinalizeConfig {
  bool isCorrection = false;
};
inline constexpr WelfordFinalizeConfig WFFINALIZE_DEFAULT_CFG{false};
struct WelfordFinalizePara {
  uint32_t rnLength;
  uint32_t abLength;
  uint32_t headCount;
  uint32_t headCountLength;
  uint32_t tailCount;
  uint32_t tailCountLength;
  float abRec;
  float rRec;
  float rRecWithCorrection;
};

namespace machine::advanced {

OPWRIGHT_RUNTIME void welford_update(const WelfordUpdateParam& para, bool in_place, Run mean_out, Run variance_out,
                                     Run mean, Run variance, Run x);
OPWRIGHT_RUNTIME void welford_finalize(const WelfordFinalizePara& para, bool correct, Run mean_out, Run variance_out,
                                       Run mean, Run variance, const int32_t* counts);

}  // namespace machine::advanced

template <typename T, typename U, bool isReuseSource = false, const WelfordUpdateConfig& config = WFUPDATE_DEFAULT_CFG>
OPWRIGHT_INLINE void WelfordUpdate(const LocalTensor<U>& outputMean, const LocalTensor<U>& outputVariance,
                                   const LocalTensor<U>& inputMean, const LocalTensor<U>& inputVariance,
                                   const LocalTensor<T>& inputX, const WelfordUpdateParam& para) {
  using namespace machine::advanced;
  static_assert(std::is_same_v<PrimT<U>, float>, "WelfordUpdate: means and variances are float");
  const uint64_t count = uint64_t{para.rnLength} * para.abLength;
  Call call("WelfordUpdate");
  const Run mean = call.in("inputMean", inputMean, count);
  const Run variance = call.in("inputVariance", inputVariance, count);
  const Run x = call.in("inputX", inputX, count);
  const Run mean_out = call.out("outputMean", outputMean, count);
  const Run variance_out = call.out("outputVariance", outputVariance, count);
  welford_update(para, config.isInplace, mean_out, variance_out, mean, variance, x);
}
template <typename T, typename U, bool isReuseSource = false, const WelfordUpdateConfig& config = WFUPDATE_DEFAULT_CFG>
OPWRIGHT_INLINE void WelfordUpdate(const LocalTensor<U>& outputMean, const LocalTensor<U>& outputVariance,
                                   const LocalTensor<U>& inputMean, const LocalTensor<U>& inputVariance,
                                   const LocalTensor<T>& inputX, const LocalTensor<uint8_t>&,
                                   const WelfordUpdateParam& para) {
  WelfordUpdate<T, U, isReuseSource, config>(outputMean, outputVariance, inputMean, inputVariance, inputX, para);
}

template <bool isReuseSource = false, const WelfordFinalizeConfig& config = WFFINALIZE_DEFAULT_CFG>
OPWRIGHT_INLINE void WelfordFinalize(const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance,
                                     const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,
                                     WelfordFinalizePara& para) {
  using namespace machine::advanced;
  Call call("WelfordFinalize");
  const Run mean = call.in("inputMean", inputMean, para.abLength);
  const Run variance = call.in("inputVariance", inputVariance, para.abLength);
  const Run mean_out = call.out("outputMean", outputMean, 1);
  const Run variance_out = call.out("outputVariance", outputVariance, 1);
  welford_finalize(para, config.isCorrection, mean_out, variance_out, mean, variance, nullptr);
}
template <bool isReuseSource = false, const WelfordFinalizeConfig& config = WFFINALIZE_DEFAULT_CFG>
OPWRIGHT_INLINE void WelfordFinalize(const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance,
                                     const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,
                                     const LocalTensor<uint8_t>&, WelfordFinalizePara& para) {
  WelfordFinalize<isReuseSource, config>(outputMean, outputVariance, inputMean, inputVariance, para);
}
template <bool isReuseSource = false, const WelfordFinalizeConfig& config = WFFINALIZE_DEFAULT_CFG>
OPWRIGHT_INLINE void WelfordFinalize(const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance,
                                     const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,
                                     const LocalTensor<int32_t>& counts, WelfordFinalizePara& para) {
  using namespace machine::advanced;
  Call call("WelfordFinalize");
  const Run mean = call.in("inputMean", inputMean, para.abLength);
  const Run variance = call.in("inputVariance", inputVariance, para.abLength);
  const Run number = call.in("counts", counts, para.abLength);
  const Run mean_out = call.out("outputMean", outputMean, 1);
  const Run variance_out = call.out("outputVariance", outputVariance, 1);
  welford_finalize(para, config.isCorrection, mean_out, variance_out, mean, variance,
                   static_cast<const int32_t*>(number.data));
}
template <bool isReuseSource = false, const WelfordFinalizeConfig& config = WFFINALIZE_DEFAULT_CFG>
OPWRIGHT_INLINE void WelfordFinalize(const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance,
                                     const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,
                                     const LocalTensor<int32_t>& counts, const LocalTensor<uint8_t>&,
                                     WelfordFinalizePara& para) {
  WelfordFinalize<isReuseSource, config>(outputMean, outputVariance, inputMean, inputVariance, counts, para);
}

}  // namespace AscendC
