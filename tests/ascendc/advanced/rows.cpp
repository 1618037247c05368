// Kernels of test_rows.py: functions over the rows of a matrix.
#include "functions.h"

using namespace AscendC;

namespace {

template <class T, class S>
__aicore__ inline void run_softmax(GM_ADDR x, GM_ADDR y, GM_ADDR sum, GM_ADDR max, uint32_t rows, uint32_t stride,
                                   uint32_t columns) {
  Bench bench;
  constexpr uint32_t kBlock = 32 / sizeof(S);
  const auto in = bench.load<T>(x, rows * stride);
  const auto out = bench.load<T>(y, rows * stride);
  const auto sums = bench.space<S>(rows * kBlock);
  const auto maxima = bench.space<S>(rows * kBlock);
  SoftMaxTiling tiling;
  tiling.srcM = rows;
  tiling.srcK = stride;
  SoftMax<T>(out, sums, maxima, in, tiling, {rows, stride, rows, columns});
  bench.store(y, out, rows * stride);
  bench.store(sum, sums, rows * kBlock);
  bench.store(max, maxima, rows * kBlock);
}

template <class T>
__aicore__ inline void run_layer_norm(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, GM_ADDR mean, GM_ADDR variance,
                                      uint32_t rows, uint32_t columns, float epsilon) {
  Bench bench;
  const auto in = bench.load<T>(x, rows * columns);
  const auto g = bench.load<T>(gamma, columns);
  const auto b = bench.load<T>(beta, columns);
  const auto out = bench.space<T>(rows * columns);
  const auto means = bench.space<T>(rows);
  const auto variances = bench.space<T>(rows);
  LayerNormTiling tiling;
  tiling.bLength = 1;
  tiling.sLength = rows;
  tiling.hLength = tiling.originalHLength = columns;
  LayerNorm<T>(out, means, variances, in, g, b, static_cast<T>(epsilon), tiling);
  bench.store(y, out, rows * columns);
  bench.store(mean, means, rows);
  bench.store(variance, variances, rows);
}

template <class T>
__aicore__ inline void run_rms_norm(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, uint32_t rows, uint32_t columns,
                                    float epsilon) {
  Bench bench;
  const auto in = bench.load<T>(x, rows * columns);
  const auto g = bench.load<T>(gamma, columns);
  const auto out = bench.space<T>(rows * columns);
  RmsNormTiling tiling;
  tiling.bLength = rows;
  tiling.sLength = 1;
  tiling.hLength = tiling.originalHLength = columns;
  RmsNorm<T>(out, in, g, bench.space<uint8_t>(256), static_cast<T>(epsilon), tiling);
  bench.store(y, out, rows * columns);
}

}  // namespace

extern "C" __global__ __aicore__ void softmax_float(GM_ADDR x, GM_ADDR y, GM_ADDR sum, GM_ADDR max, uint32_t rows,
                                                    uint32_t stride, uint32_t columns) {
  run_softmax<float, float>(x, y, sum, max, rows, stride, columns);
}
extern "C" __global__ __aicore__ void softmax_half(GM_ADDR x, GM_ADDR y, GM_ADDR sum, GM_ADDR max, uint32_t rows,
                                                   uint32_t stride, uint32_t columns) {
  run_softmax<half, half>(x, y, sum, max, rows, stride, columns);
}
extern "C" __global__ __aicore__ void softmax_mixed(GM_ADDR x, GM_ADDR y, GM_ADDR sum, GM_ADDR max, uint32_t rows,
                                                    uint32_t stride, uint32_t columns) {
  run_softmax<half, float>(x, y, sum, max, rows, stride, columns);
}

// Rows in two parts, the second one updating the first.
extern "C" __global__ __aicore__ void flash(GM_ADDR first, GM_ADDR second, GM_ADDR y0, GM_ADDR y1, GM_ADDR sum,
                                            GM_ADDR max, GM_ADDR factor, uint32_t rows, uint32_t columns) {
  Bench bench;
  const uint32_t count = rows * columns;
  const auto a = bench.load<float>(first, count);
  const auto b = bench.load<float>(second, count);
  const auto sums = bench.space<float>(rows * 8);
  const auto maxima = bench.space<float>(rows * 8);
  const auto factors = bench.space<float>(rows * 8);
  SoftMaxTiling tiling;
  tiling.srcM = rows;
  tiling.srcK = columns;
  SoftmaxFlashV2<float>(a, sums, maxima, a, factors, sums, maxima, tiling);
  bench.store(y0, a, count);
  SoftmaxFlashV2<float, true>(b, sums, maxima, b, factors, sums, maxima, tiling);
  bench.store(y1, b, count);
  bench.store(sum, sums, rows * 8);
  bench.store(max, maxima, rows * 8);
  bench.store(factor, factors, rows * 8);
}
extern "C" __global__ __aicore__ void softmax_backward(GM_ADDR grad, GM_ADDR y, GM_ADDR dx, uint32_t rows,
                                                       uint32_t columns) {
  Bench bench;
  const auto g = bench.load<float>(grad, rows * columns);
  const auto in = bench.load<float>(y, rows * columns);
  const auto out = bench.space<float>(rows * columns);
  SoftMaxTiling tiling;
  tiling.srcM = rows;
  tiling.srcK = columns;
  SoftmaxGrad<float>(out, g, in, tiling);
  bench.store(dx, out, rows * columns);
}
extern "C" __global__ __aicore__ void layer_norm_float(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, GM_ADDR mean,
                                                       GM_ADDR variance, uint32_t rows, uint32_t columns,
                                                       float epsilon) {
  run_layer_norm<float>(x, gamma, beta, y, mean, variance, rows, columns, epsilon);
}
extern "C" __global__ __aicore__ void layer_norm_half(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, GM_ADDR mean,
                                                      GM_ADDR variance, uint32_t rows, uint32_t columns,
                                                      float epsilon) {
  run_layer_norm<half>(x, gamma, beta, y, mean, variance, rows, columns, epsilon);
}
extern "C" __global__ __aicore__ void layer_norm_backward(GM_ADDR dy, GM_ADDR x, GM_ADDR variance, GM_ADDR mean,
                                                          GM_ADDR gamma, GM_ADDR dx, GM_ADDR d_gamma, GM_ADDR d_beta,
                                                          uint32_t rows, uint32_t columns, float epsilon) {
  Bench bench;
  const uint32_t count = rows * columns;
  const auto gradient = bench.load<float>(dy, count);
  const auto in = bench.load<float>(x, count);
  const auto variances = bench.load<float>(variance, rows);
  const auto means = bench.load<float>(mean, rows);
  const auto g = bench.load<float>(gamma, columns);
  const auto out = bench.space<float>(count);
  const auto for_gamma = bench.space<float>(count);
  LayerNormGradTiling tiling;
  tiling.bLength = 1;
  tiling.sLength = rows;
  tiling.hLength = tiling.originalHLength = columns;
  LayerNormGrad<float>(out, for_gamma, gradient, in, variances, means, g, epsilon, tiling);
  bench.store(dx, out, count);
  const auto gammas = bench.space<float>(columns);
  const auto betas = bench.space<float>(columns);
  LayerNormGradBetaTiling beta_tiling;
  beta_tiling.bLength = 1;
  beta_tiling.sLength = rows;
  beta_tiling.hLength = beta_tiling.originalHLength = columns;
  LayerNormGradBeta<float>(gammas, betas, for_gamma, gradient, beta_tiling);
  bench.store(d_gamma, gammas, columns);
  bench.store(d_beta, betas, columns);
}
extern "C" __global__ __aicore__ void rms_norm_float(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, uint32_t rows,
                                                     uint32_t columns, float epsilon) {
  run_rms_norm<float>(x, gamma, y, rows, columns, epsilon);
}
extern "C" __global__ __aicore__ void rms_norm_half(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, uint32_t rows,
                                                    uint32_t columns, float epsilon) {
  run_rms_norm<half>(x, gamma, y, rows, columns, epsilon);
}
extern "C" __global__ __aicore__ void group_norm(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, uint32_t n,
                                                 uint32_t channels, uint32_t pixels, uint32_t groups, float epsilon) {
  Bench bench;
  const uint32_t count = n * channels * pixels;
  const auto in = bench.load<float>(x, count);
  const auto g = bench.load<float>(gamma, channels);
  const auto b = bench.load<float>(beta, channels);
  const auto out = bench.space<float>(count);
  GroupNormTiling tiling;
  tiling.n = n;
  tiling.c = channels;
  tiling.hw = tiling.hwAlignSize = pixels;
  tiling.g = groups;
  GroupNorm<float>(out, bench.space<float>(n * groups), bench.space<float>(n * groups), in, g, b, epsilon, tiling);
  bench.store(y, out, count);
}
extern "C" __global__ __aicore__ void batch_norm(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, uint32_t batches,
                                                 uint32_t columns, float epsilon) {
  Bench bench;
  const auto in = bench.load<float>(x, batches * columns);
  const auto g = bench.load<float>(gamma, batches);
  const auto b = bench.load<float>(beta, batches);
  const auto out = bench.space<float>(batches * columns);
  BatchNormTiling tiling;
  tiling.originalBLength = batches;
  tiling.meanVarSize = columns;
  BatchNorm<float>(out, bench.space<float>(columns), bench.space<float>(columns), in, g, b, epsilon, tiling);
  bench.store(y, out, batches * columns);
}
