// native/ascendc/kernel/advanced/normalization.h
// Normalization of the high-level API: LayerNorm and its gradients, RmsNorm, DeepNorm, BatchNorm, GroupNorm, Normalize.
// Means and variances are computed in double precision and rounded once.
#pragma once

#include "advanced/softmax.h"

namespace AscendC {

struct LayerNormConfig {
  bool isNoBeta = false;
  bool isNoGamma = false;
  bool isOnlyOutput = false;
  bool isOutputRstd = true;
};
inline constexpr LayerNormConfig LNCFG_NORM{false, false, false, true};
inline constexpr LayerNormConfig LNCFG_NOBETA{true, false, false, true};
inline constexpr LayerNormConfig LNCFG_NOGAMMA{false, true, false, true};
inline constexpr LayerNormConfig LNCFG_ONLYOUTPUT{false, false, true, true};
struct LayerNormPara {
  uint32_t aLength;
  uint32_t rLength;
  uint32_t rLengthWithPadding;
};
struct LayerNormGradShapeInfo {
  DataFormat dataFormat = DataFormat::ND;
};
enum class ReducePattern { AR = 0, RA = 1, R, ARA, ARAR, ARARA, ARARAR, ARARARA, ARARARAR, ARARARARA, RAR, RARA };
struct NormalizeConfig {
  ReducePattern reducePattern = ReducePattern::AR;
  int32_t aLength = -1;
  bool isNoBeta = false;
  bool isNoGamma = false;
  bool isOnlyOutput = false;
};
inline constexpr NormalizeConfig NLCFG_NORM{};
struct NormalizePara {
  uint32_t aLength;
  uint32_t rLength;
  uint32_t rLengthWithPadding;
};
namespace machine::advanced {

// Rows of `columns` elements, `stride` apart. A run without data is absent.
struct Norm {
  uint32_t rows, columns, stride;
  Run dst, src;
  Run gamma, beta;
  Run mean, variance;
  bool reciprocal;  // `variance` is 1 / sqrt(variance + epsilon)
  bool given;       // mean and variance are inputs; `reciprocal_out` is written
  Run reciprocal_out;
  Run residual;  // added to alpha * src first
  float alpha, epsilon;
};
OPWRIGHT_RUNTIME void compute_layer_norm(const Norm& norm);
OPWRIGHT_RUNTIME void compute_rms_norm(const Norm& norm);
// Down the columns: gamma and beta belong to rows.
OPWRIGHT_RUNTIME void compute_batch_norm(const Norm& norm);
// [n, groups, channels of a group, pixels]: gamma and beta belong to channels.
OPWRIGHT_RUNTIME void compute_group_norm(const Norm& norm, uint32_t groups, uint32_t channels, uint32_t pixels,
                                         uint32_t pixel_stride);
struct LayerNormBackward {
  uint32_t rows, columns, stride;
  Run dx, for_gamma, dy, x, variance, mean, gamma;
  float epsilon;
};
OPWRIGHT_RUNTIME void compute_layer_norm_grad(const LayerNormBackward& work);
OPWRIGHT_RUNTIME void compute_layer_norm_grad_beta(uint32_t rows, uint32_t columns, uint32_t stride, Run d_gamma,
                                                   Run d_beta, Run for_gamma, Run dy);
template <class T>
struct NormTypes {
  static_assert(kIsReal<T>, "normalization: half and float on Atlas A2");
};

// [B, S, H] of the tilings: rows of H, of which the first originalHLength count.
template <class Tiling>
OPWRIGHT_INLINE Norm norm_of(const char* api, const Tiling& tiling, float epsilon) {
  Norm norm{};
  norm.rows = tiling.bLength * tiling.sLength;
  norm.stride = tiling.hLength;
  norm.columns = tiling.originalHLength != 0 ? tiling.originalHLength : tiling.hLength;
  norm.alpha = 1.0f;
  norm.epsilon = epsilon;
  if (norm.rows == 0 || norm.stride == 0 || norm.columns > norm.stride) {
    refuse(api, "the tiling has ", norm.rows, " rows of ", norm.columns, " in ", norm.stride, " elements; ",
           "fill it with the tiling function of this API");
  }
  return norm;
}

}  // namespace machine::advanced

// ---- LayerNorm

template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,
                               const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
                               const LocalTensor<T>& gamma, const LocalTensor<T>& beta,
                               const LocalTensor<uint8_t>& sharedTmpBuffer, const T epsilon, LayerNormTiling& tiling) {
  LayerNorm<T, isReuseSource>(output, outputMean, outputVariance, inputX, gamma, beta, epsilon, tiling);
  static_cast<void>(sharedTmpBuffer);
}
template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,
                               const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
                               const LocalTensor<T>& gamma, const LocalTensor<T>& beta, const T epsilon,
                               LayerNormTiling& tiling) {
  using namespace machine::advanced;
  [[maybe_unused]] NormTypes<PrimT<T>> types;
  Norm norm = norm_of("LayerNorm", tiling, static_cast<float>(epsilon));
  const uint64_t elements = uint64_t{norm.rows} * norm.stride;
  Call call("LayerNorm");
  norm.src = call.in("inputX", inputX, elements);
  norm.gamma = call.in("gamma", gamma, norm.columns);
  norm.beta = call.in("beta", beta, norm.columns);
  norm.dst = call.out("output", output, elements);
  norm.mean = call.out("outputMean", outputMean, norm.rows);
  norm.variance = call.out("outputVariance", outputVariance, norm.rows);
  compute_layer_norm(norm);
}
// [A, R], with 1 / sqrt(variance + epsilon) instead of the variance.
template <typename U, typename T, bool isReuseSource = false, const LayerNormConfig& config = LNCFG_NORM>
OPWRIGHT_INLINE void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& outputMean,
                               const LocalTensor<float>& outputRstd, const LocalTensor<T>& inputX,
                               const LocalTensor<U>& gamma, const LocalTensor<U>& beta, const float epsilon,
                               const LayerNormPara& para, const LayerNormSeparateTiling&) {
  using namespace machine::advanced;
  [[maybe_unused]] NormTypes<PrimT<T>> types;
  static_assert(config.isOutputRstd, "LayerNorm: the variance as an output is not supported on Atlas A2");
  Norm norm{};
  norm.rows = para.aLength;
  norm.columns = para.rLength;
  norm.stride = para.rLengthWithPadding;
  norm.alpha = 1.0f;
  norm.epsilon = epsilon;
  norm.reciprocal = true;
  const uint64_t elements = uint64_t{norm.rows} * norm.stride;
  Call call("LayerNorm");
  norm.src = call.in("inputX", inputX, elements);
  if (!config.isNoGamma) norm.gamma = call.in("gamma", gamma, norm.columns);
  if (!config.isNoBeta) norm.beta = call.in("beta", beta, norm.columns);
  norm.dst = call.out("output", output, elements);
  if (!config.isOnlyOutput) {
    norm.mean = call.out("outputMean", outputMean, norm.rows);
    norm.variance = call.out("outputRstd", outputRstd, norm.rows);
  }
  compute_layer_norm(norm);
}
template <typename U, typename T, bool isReuseSource = false, const LayerNormConfig& config = LNCFG_NORM>
OPWRIGHT_INLINE void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& outputMean,
                               const LocalTensor<float>& outputRstd, const LocalTensor<T>& inputX,
                               const LocalTensor<U>& gamma, const LocalTensor<U>& beta, const float epsilon,
                               const LocalTensor<uint8_t>&, const LayerNormPara& para,
                               const LayerNormSeparateTiling& tiling) {
  LayerNorm<U, T, isReuseSource, config>(output, outputMean, outputRstd, inputX, gamma, beta, epsilon, para, tiling);
}

template <typename U, typename T, bool isReuseSource = false, const NormalizeConfig& config = NLCFG_NORM>
OPWRIGHT_INLINE void Normalize(const LocalTensor<T>& output, const LocalTensor<float>& outputRstd,
                               const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,
                               const LocalTensor<T>& inputX, const LocalTensor<U>& gamma, const LocalTensor<U>& beta,
                               const float epsilon, const NormalizePara& para) {
  using namespace machine::advanced;
  [[maybe_unused]] NormTypes<PrimT<T>> types;
  Norm norm{};
  norm.rows = para.aLength;
  norm.columns = para.rLength;
  norm.stride = para.rLengthWithPadding;
  norm.alpha = 1.0f;
  norm.epsilon = epsilon;
  norm.given = true;
  const uint64_t elements = uint64_t{norm.rows} * norm.stride;
  Call call("Normalize");
  norm.src = call.in("inputX", inputX, elements);
  norm.mean = call.in("inputMean", inputMean, norm.rows);
  norm.variance = call.in("inputVariance", inputVariance, norm.rows);
  if (!config.isNoGamma) norm.gamma = call.in("gamma", gamma, norm.columns);
  if (!config.isNoBeta) norm.beta = call.in("beta", beta, norm.columns);
  norm.dst = call.out("output", output, elements);
  if (!config.isOnlyOutput) norm.reciprocal_out = call.out("outputRstd", outputRstd, norm.rows);
  compute_layer_norm(norm);
}
template <typename U, typename T, bool isReuseSource = false, const NormalizeConfig& config = NLCFG_NORM>
OPWRIGHT_INLINE void Normalize(const LocalTensor<T>& output, const LocalTensor<float>& outputRstd,
                               const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,
                               const LocalTensor<T>& inputX, const LocalTensor<U>& gamma, const LocalTensor<U>& beta,
                               const LocalTensor<uint8_t>&, const float epsilon, const NormalizePara& para) {
  Normalize<U, T, isReuseSource, config>(output, outputRstd, inputMean, inputVariance, inputX, gamma, beta, epsilon,
                                         para);
}

// ---- RmsNorm, DeepNorm

template <typename T, bool isBasicBlock = false>
OPWRIGHT_INLINE void RmsNorm(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                             const LocalTensor<T>& gammaLocal, const T epsilon, const RmsNormTiling& tiling) {
  using namespace machine::advanced;
  [[maybe_unused]] NormTypes<PrimT<T>> types;
  Norm norm = norm_of("RmsNorm", tiling, static_cast<float>(epsilon));
  const uint64_t elements = uint64_t{norm.rows} * norm.stride;
  Call call("RmsNorm");
  norm.src = call.in("srcLocal", srcLocal, elements);
  norm.gamma = call.in("gammaLocal", gammaLocal, norm.columns);
  norm.dst = call.out("dstLocal", dstLocal, elements);
  compute_rms_norm(norm);
}
template <typename T, bool isBasicBlock = false>
OPWRIGHT_INLINE void RmsNorm(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal,
                             const LocalTensor<T>& gammaLocal, const LocalTensor<uint8_t>&, const T epsilon,
                             const RmsNormTiling& tiling) {
  RmsNorm<T, isBasicBlock>(dstLocal, srcLocal, gammaLocal, epsilon, tiling);
}

template <typename T, bool isReuseSrc = false, bool isBasicBlock = false>
OPWRIGHT_INLINE void DeepNorm(const LocalTensor<T>& dstLocal, const LocalTensor<T>& meanLocal,
                              const LocalTensor<T>& rstdLocal, const LocalTensor<T>& srcLocal,
                              const LocalTensor<T>& gxLocal, const LocalTensor<T>& betaLocal,
                              const LocalTensor<T>& gammaLocal, const T alpha, const T epsilon,
                              DeepNormTiling& tiling) {
  using namespace machine::advanced;
  [[maybe_unused]] NormTypes<PrimT<T>> types;
  Norm norm = norm_of("DeepNorm", tiling, static_cast<float>(epsilon));
  norm.alpha = static_cast<float>(alpha);
  // The page calls the third output a reciprocal deviation; the public sample for Atlas A2 expects the variance.
  const uint64_t elements = uint64_t{norm.rows} * norm.stride;
  Call call("DeepNorm");
  norm.src = call.in("srcLocal", srcLocal, elements);
  norm.residual = call.in("gxLocal", gxLocal, elements);
  norm.beta = call.in("betaLocal", betaLocal, norm.columns);
  norm.gamma = call.in("gammaLocal", gammaLocal, norm.columns);
  norm.dst = call.out("dstLocal", dstLocal, elements);
  norm.mean = call.out("meanLocal", meanLocal, norm.rows);
  norm.variance = call.out("rstdLocal", rstdLocal, norm.rows);
  compute_layer_norm(norm);
}
template <typename T, bool isReuseSrc = false, bool isBasicBlock = false>
OPWRIGHT_INLINE void DeepNorm(const LocalTensor<T>& dstLocal, const LocalTensor<T>& meanLocal,
                              const LocalTensor<T>& rstdLocal, const LocalTensor<T>& srcLocal,
                              const LocalTensor<T>& gxLocal, const LocalTensor<T>& betaLocal,
                              const LocalTensor<T>& gammaLocal, const LocalTensor<uint8_t>&, const T alpha,
                              const T epsilon, DeepNormTiling& tiling) {
  DeepNorm<T, isReuseSrc, isBasicBlock>(dstLocal, meanLocal, rstdLocal, srcLocal, gxLocal, betaLocal, gammaLocal, alpha,
                                        epsilon, tiling);
}

// ---- BatchNorm, GroupNorm

template <typename T, bool isReuseSource = false, bool isBasicBlock = false>
OPWRIGHT_INLINE void BatchNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,
                               const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
                               const LocalTensor<T>& gamm, const LocalTensor<T>& beta, const T epsilon,
                               BatchNormTiling& tiling) {
  using namespace machine::advanced;
  [[maybe_unused]] NormTypes<PrimT<T>> types;
  Norm norm{};
  norm.rows = tiling.originalBLength;
  norm.columns = norm.stride = tiling.meanVarSize;
  norm.epsilon = static_cast<float>(epsilon);
  const uint64_t elements = uint64_t{norm.rows} * norm.stride;
  if (elements == 0) machine::refuse("BatchNorm", "an empty tiling; fill it with GetBatchNormNDTilingInfo");
  Call call("BatchNorm");
  norm.src = call.in("inputX", inputX, elements);
  norm.gamma = call.in("gamm", gamm, norm.rows);
  norm.beta = call.in("beta", beta, norm.rows);
  norm.dst = call.out("output", output, elements);
  norm.mean = call.out("outputMean", outputMean, norm.columns);
  norm.variance = call.out("outputVariance", outputVariance, norm.columns);
  compute_batch_norm(norm);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false>
OPWRIGHT_INLINE void BatchNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,
                               const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
                               const LocalTensor<T>& gamm, const LocalTensor<T>& beta, const LocalTensor<uint8_t>&,
                               const T epsilon, BatchNormTiling& tiling) {
  BatchNorm<T, isReuseSource, isBasicBlock>(output, outputMean, outputVariance, inputX, gamm, beta, epsilon, tiling);
}

template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void GroupNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,
                               const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
                               const LocalTensor<T>& gamma, const LocalTensor<T>& beta, const T epsilon,
                               GroupNormTiling& tiling) {
  using namespace machine::advanced;
  [[maybe_unused]] NormTypes<PrimT<T>> types;
  if (tiling.g == 0 || tiling.c % tiling.g != 0) {
    machine::refuse("GroupNorm", tiling.c, " channels in ", tiling.g, " groups; allowed: groups of one size");
  }
  Norm norm{};
  norm.rows = tiling.n;
  norm.epsilon = static_cast<float>(epsilon);
  const uint64_t elements = uint64_t{tiling.n} * tiling.c * tiling.hwAlignSize;
  Call call("GroupNorm");
  norm.src = call.in("inputX", inputX, elements);
  norm.gamma = call.in("gamma", gamma, tiling.c);
  norm.beta = call.in("beta", beta, tiling.c);
  norm.dst = call.out("output", output, elements);
  norm.mean = call.out("outputMean", outputMean, uint64_t{tiling.n} * tiling.g);
  norm.variance = call.out("outputVariance", outputVariance, uint64_t{tiling.n} * tiling.g);
  compute_group_norm(norm, tiling.g, tiling.c / tiling.g, tiling.hw, tiling.hwAlignSize);
}
template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void GroupNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,
                               const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
                               const LocalTensor<T>& gamma, const LocalTensor<T>& beta, const LocalTensor<uint8_t>&,
                               const T epsilon, GroupNormTiling& tiling) {
  GroupNorm<T, isReuseSource>(output, outputMean, outputVariance, inputX, gamma, beta, epsilon, tiling);
}

// ---- gradients

template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void LayerNormGrad(const LocalTensor<T>& outputPdX, const LocalTensor<T>& resForGamma,
                                   const LocalTensor<T>& inputDy, const LocalTensor<T>& inputX,
                                   const LocalTensor<T>& inputVariance, const LocalTensor<T>& inputMean,
                                   const LocalTensor<T>& inputGamma, T epsilon, LayerNormGradTiling& tiling,
                                   const LayerNormGradShapeInfo& = {}) {
  using namespace machine::advanced;
  [[maybe_unused]] NormTypes<PrimT<T>> types;
  const Norm norm = norm_of("LayerNormGrad", tiling, static_cast<float>(epsilon));
  const uint64_t elements = uint64_t{norm.rows} * norm.stride;
  LayerNormBackward work{};
  work.rows = norm.rows;
  work.columns = norm.columns;
  work.stride = norm.stride;
  work.epsilon = norm.epsilon;
  Call call("LayerNormGrad");
  work.dy = call.in("inputDy", inputDy, elements);
  work.x = call.in("inputX", inputX, elements);
  work.variance = call.in("inputVariance", inputVariance, norm.rows);
  work.mean = call.in("inputMean", inputMean, norm.rows);
  work.gamma = call.in("inputGamma", inputGamma, norm.columns);
  work.dx = call.out("outputPdX", outputPdX, elements);
  work.for_gamma = call.out("resForGamma", resForGamma, elements);
  compute_layer_norm_grad(work);
}
template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void LayerNormGrad(const LocalTensor<T>& outputPdX, const LocalTensor<T>& resForGamma,
                                   const LocalTensor<T>& inputDy, const LocalTensor<T>& inputX,
                                   const LocalTensor<T>& inputVariance, const LocalTensor<T>& inputMean,
                                   const LocalTensor<T>& inputGamma, LocalTensor<uint8_t>&, T epsilon,
                                   LayerNormGradTiling& tiling, const LayerNormGradShapeInfo& shapeInfo = {}) {
  LayerNormGrad<T, isReuseSource>(outputPdX, resForGamma, inputDy, inputX, inputVariance, inputMean, inputGamma,
                                  epsilon, tiling, shapeInfo);
}

template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void LayerNormGradBeta(const LocalTensor<T>& outputPdGamma, const LocalTensor<T>& outputPdBeta,
                                       const LocalTensor<T>& resForGamma, const LocalTensor<T>& inputDy,
                                       const LayerNormGradBetaTiling& tiling) {
  using namespace machine::advanced;
  [[maybe_unused]] NormTypes<PrimT<T>> types;
  const Norm norm = norm_of("LayerNormGradBeta", tiling, 0.0f);
  const uint64_t elements = uint64_t{norm.rows} * norm.stride;
  Call call("LayerNormGradBeta");
  const Run for_gamma = call.in("resForGamma", resForGamma, elements);
  const Run dy = call.in("inputDy", inputDy, elements);
  const Run d_gamma = call.out("outputPdGamma", outputPdGamma, norm.stride);
  const Run d_beta = call.out("outputPdBeta", outputPdBeta, norm.stride);
  compute_layer_norm_grad_beta(norm.rows, norm.columns, norm.stride, d_gamma, d_beta, for_gamma, dy);
}
template <typename T, bool isReuseSource = false>
OPWRIGHT_INLINE void LayerNormGradBeta(const LocalTensor<T>& outputPdGamma, const LocalTensor<T>& outputPdBeta,
                                       const LocalTensor<T>& resForGamma, const LocalTensor<T>& inputDy,
                                       const LocalTensor<uint8_t>&, const LayerNormGradBetaTiling& tiling) {
  LayerNormGradBeta<T, isReuseSource>(outputPdGamma, outputPdBeta, resForGamma, inputDy, tiling);
}

}  // namespace AscendC
