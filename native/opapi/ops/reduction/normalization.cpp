// native/opapi/ops/reduction/normalization.cpp
// Batch, layer and root-mean-square normalisation with their gradients, the parts of synchronised batch normalisation,
// and the forms fused with an addition. ATen's functions for layers have no out= form; its kernels are called instead,
// with the output itself.
#include "opapi/ops/reduction/normalization.h"

#include <ATen/native/layer_norm.h>

namespace {

// ---- batch normalisation

at::DimVector all_but_channels(const at::Tensor& input) {
  at::DimVector dims;
  for (int64_t i = 0; i < input.dim(); ++i) {
    if (i != 1) dims.push_back(i);
  }
  return dims;
}

// A running statistic as ATen wants it, and back.
class Running {
 public:
  Running(at::Tensor& memory, const at::Tensor& input)
      : memory_(memory), values_(parameter(memory.defined() ? OptionalTensor(memory) : std::nullopt, input)) {}
  const OptionalTensor& values() const { return values_; }
  void store() {
    if (values_ && !values_->is_same(memory_)) memory_.copy_(*values_);
  }

 private:
  at::Tensor& memory_;
  OptionalTensor values_;
};

void batch_norm(const at::Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                at::Tensor& running_mean, at::Tensor& running_var, bool training, double momentum, double eps,
                at::Tensor& output, at::Tensor& save_mean, at::Tensor& save_invstd) {
  Running mean(running_mean, input), variance(running_var, input);
  const at::TensorOptions options = input.options().dtype(statistics_dtype(input));
  at::Tensor batch_mean = at::empty({0}, options), batch_invstd = at::empty({0}, options);
  // ATen's kernel takes it for granted that both have the same memory format.
  const at::Tensor dense = input.contiguous();
  at::Tensor result = result_for(output, dense);
  at::native_batch_norm_out(result, batch_mean, batch_invstd, dense, scale_parameter(weight, input, {input.size(1)}),
                            parameter(bias, input), mean.values(), variance.values(), training, momentum, eps);
  assign(output, result);
  if (training) {
    mean.store();
    variance.store();
    assign_statistic(save_mean, batch_mean);
    assign_statistic(save_invstd, batch_invstd);
  } else {
    assign_statistic(save_mean, *mean.values());
    assign_statistic(save_invstd, at::add(*variance.values(), eps).rsqrt_());
  }
}

void batch_norm_backward(const at::Tensor& grad, const at::Tensor& input, const OptionalTensor& weight,
                         const OptionalTensor& running_mean, const OptionalTensor& running_var,
                         const OptionalTensor& save_mean, const OptionalTensor& save_invstd, bool training, double eps,
                         c10::ArrayRef<uint8_t> output_mask, at::Tensor& grad_input, at::Tensor& grad_weight,
                         at::Tensor& grad_bias) {
  const auto [by_input, by_weight, by_bias] = at::native_batch_norm_backward(
      grad, input, scale_parameter(weight, input, {input.size(1)}), parameter(running_mean, input),
      parameter(running_var, input), parameter(save_mean, input), parameter(save_invstd, input), training, eps,
      mask<3>(output_mask));
  assign_wanted(grad_input, by_input);
  assign_wanted(grad_weight, by_weight);
  assign_wanted(grad_bias, by_bias);
}

// ---- synchronised batch normalisation: statistics here, their exchange between devices by the caller

void batch_norm_stats(const at::Tensor& input, double eps, at::Tensor& mean, at::Tensor& invstd) {
  const auto [variance, average] =
      at::var_mean(input.to(statistics_dtype(input)), all_but_channels(input), at::Scalar(0), false);
  assign(mean, average);
  assign(invstd, at::add(variance, eps).rsqrt_());
}

void batch_norm_elemt(const at::Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                      const at::Tensor& mean, const at::Tensor& invstd, at::Tensor& output) {
  const at::ScalarType dtype = statistics_dtype(input);
  at::Tensor scale = invstd.to(dtype);
  if (weight) scale = at::mul(scale, *weight);
  at::Tensor shift = at::mul(mean, scale).neg_();
  if (bias) shift.add_(*bias);
  into(output, dtype, [&](at::Tensor& target) {
    at::addcmul_out(target, per_channel(shift, input), input.to(dtype), per_channel(scale, input));
  });
}

void batch_norm_reduce_backward(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& mean,
                                const at::Tensor& invstd, at::Tensor& sum_dy, at::Tensor& sum_dy_xmu,
                                at::Tensor& grad_weight, at::Tensor& grad_bias) {
  const at::ScalarType dtype = statistics_dtype(input);
  const at::DimVector dims = all_but_channels(input);
  const at::Tensor dy = grad.to(dtype);
  const at::Tensor sum = at::sum(dy, dims);
  const at::Tensor centred = at::sub(input.to(dtype), per_channel(mean, input)).mul_(dy).sum(dims);
  assign(sum_dy, sum);
  assign(sum_dy_xmu, centred);
  assign(grad_weight, at::mul(centred, invstd));
  assign(grad_bias, sum);
}

void batch_norm_elemt_backward(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& mean,
                               const at::Tensor& invstd, const OptionalTensor& weight, const at::Tensor& sum_dy,
                               const at::Tensor& sum_dy_xmu, const at::Tensor& counter, at::Tensor& grad_input) {
  const at::ScalarType dtype = statistics_dtype(input);
  const at::Tensor count = counter.sum().to(dtype);
  const at::Tensor inverse = invstd.to(dtype);
  const at::Tensor mean_dy = at::div(sum_dy, count);
  const at::Tensor slope = at::div(sum_dy_xmu, count).mul_(inverse).mul_(inverse);
  const at::Tensor scale = weight ? at::mul(inverse, *weight) : inverse;
  at::Tensor result = at::sub(input.to(dtype), per_channel(mean, input)).mul_(per_channel(slope, input)).neg_();
  result.add_(grad).sub_(per_channel(mean_dy, input)).mul_(per_channel(scale, input));
  assign(grad_input, result);
}

void update_running(at::Tensor& running, const at::Tensor& value, double momentum) {
  if (running.defined()) running.copy_(at::add(at::mul(running, 1 - momentum), value, momentum));
}

// Joins the statistics of `counts.numel()` devices.
void batch_norm_gather(const at::Tensor& mean, const at::Tensor& invstd, at::Tensor& running_mean,
                       at::Tensor& running_var, double momentum, double eps, const at::Tensor& counts,
                       at::Tensor& mean_all, at::Tensor& invstd_all) {
  const at::Tensor weights = counts.reshape({-1, 1}).to(statistics_dtype(mean));
  const at::Tensor total = weights.sum();
  const at::Tensor average = at::mul(mean, weights).sum(0).div_(total);
  const at::Tensor variance = at::pow(invstd.to(weights.scalar_type()), -2).sub_(eps);
  const at::Tensor squares = at::sub(mean, average).square_().add_(variance).mul_(weights).sum(0);
  assign(mean_all, average);
  assign(invstd_all, at::div(squares, total).add_(eps).rsqrt_());
  update_running(running_mean, average, momentum);
  update_running(running_var, at::div(squares, at::sub(total, 1)), momentum);
}

// The same from sums and sums of squares.
void sync_batch_norm_gather(const at::Tensor& total_sum, const at::Tensor& total_square_sum, const at::Tensor& counts,
                            at::Tensor& running_mean, at::Tensor& running_var, double momentum, double eps,
                            at::Tensor& batch_mean, at::Tensor& batch_invstd) {
  const at::Tensor total = counts.sum().to(at::kFloat);
  const int64_t channels = batch_mean.numel();
  const at::Tensor average = total_sum.to(at::kFloat).reshape({-1, channels}).sum(0).div_(total);
  const at::Tensor squares = total_square_sum.to(at::kFloat).reshape({-1, channels}).sum(0);
  const at::Tensor variance = at::div(squares, total).sub_(at::square(average));
  assign(batch_mean, average);
  assign(batch_invstd, at::add(variance, eps).rsqrt_());
  update_running(running_mean, average, momentum);
  update_running(running_var, at::mul(variance, total).div_(at::sub(total, 1)), momentum);
}

void batch_norm_reduce(const at::Tensor& x, at::Tensor& sum, at::Tensor& square_sum) {
  const at::DimVector dims = all_but_channels(x);
  assign(sum, at::sum(x, dims));
  assign(square_sum, at::square(x).sum(dims));
}

// ---- layer normalisation

void layer_norm(const at::Tensor& input, at::IntArrayRef shape, const OptionalTensor& weight,
                const OptionalTensor& bias, double eps, at::Tensor& out, at::Tensor& mean, at::Tensor& rstd) {
  const at::Tensor dense = input.contiguous();
  const at::Tensor scale = or_undefined(scale_parameter(weight, input, shape));
  const at::Tensor shift = or_undefined(parameter(bias, input));
  const auto [rows, columns] = at::native::_check_layer_norm_inputs(dense, shape, scale, shift);
  at::Tensor result = result_for(out, dense);
  const at::TensorOptions options = input.options().dtype(statistics_dtype(input));
  at::Tensor average = at::empty({rows}, options), inverse = at::empty({rows}, options);
  at::native::LayerNormKernel(at::kCPU, dense, scale, shift, rows, columns, eps, &result, &average, &inverse);
  assign(out, result);
  assign_statistic(mean, average);
  assign_statistic(rstd, inverse);
}

void layer_norm_backward(const at::Tensor& grad, const at::Tensor& input, at::IntArrayRef shape, const at::Tensor& mean,
                         const at::Tensor& rstd, const OptionalTensor& weight, const OptionalTensor& bias,
                         c10::ArrayRef<uint8_t> output_mask, at::Tensor& grad_input, at::Tensor& grad_weight,
                         at::Tensor& grad_bias) {
  const at::Tensor dense = input.contiguous();
  const at::Tensor scale = or_undefined(scale_parameter(weight, input, shape));
  const auto [rows, columns] = at::native::_check_layer_norm_inputs(dense, shape, scale, or_undefined(bias));
  const auto [input_wanted, weight_wanted, bias_wanted] = mask<3>(output_mask);
  const at::TensorOptions options = input.options().dtype(statistics_dtype(input));
  at::Tensor by_input, by_weight, by_bias;
  if (input_wanted) by_input = result_for(grad_input, dense);
  if (weight_wanted) by_weight = at::zeros(shape, options);
  if (bias_wanted) by_bias = at::zeros(shape, options);
  if (rows > 0) {
    at::native::LayerNormBackwardKernel(at::kCPU, grad, dense, *parameter(mean, input), *parameter(rstd, input), scale,
                                        rows, columns, &by_input, &by_weight, &by_bias);
  }
  assign_wanted(grad_input, by_input);
  assign_wanted(grad_weight, by_weight);
  assign_wanted(grad_bias, by_bias);
}

// Normalises a sum; `gamma` has the normalised dimensions.
void sum_layer_norm(const at::Tensor& sum, const at::Tensor& gamma, const at::Tensor& beta, double eps, at::Tensor& y,
                    at::Tensor& mean, at::Tensor& rstd) {
  const auto [result, average, inverse] =
      at::native_layer_norm(sum, gamma.sizes(), gamma.to(sum.scalar_type()), beta.to(sum.scalar_type()), eps);
  assign(y, result);
  assign_statistic(mean, average);
  assign_statistic(rstd, inverse);
}

at::Tensor sum_layer_norm_backward(const at::Tensor& grad, const at::Tensor& sum, const at::Tensor& gamma,
                                   const at::Tensor& mean, const at::Tensor& rstd, at::Tensor& grad_gamma,
                                   at::Tensor& grad_beta) {
  at::DimVector rows(sum.dim(), 1);
  for (int64_t i = 0; i < sum.dim() - gamma.dim(); ++i) rows[i] = sum.size(i);
  const at::Tensor scale = gamma.to(at::kFloat);
  const auto [by_sum, by_gamma, by_beta] =
      at::native_layer_norm_backward(grad.to(at::kFloat), sum, gamma.sizes(), mean.reshape(rows), rstd.reshape(rows),
                                     scale, at::zeros_like(scale), {true, true, true});
  assign(grad_gamma, by_gamma);
  assign(grad_beta, by_beta);
  return by_sum;
}

void add_layer_norm(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma, const at::Tensor& beta,
                    const OptionalTensor& bias, double eps, at::Tensor& y, at::Tensor& mean, at::Tensor& rstd,
                    at::Tensor& x) {
  at::Tensor sum = at::add(x1.to(at::kFloat), x2);
  if (bias) sum.add_(*bias);
  sum_layer_norm(sum, gamma, beta, eps, y, mean, rstd);
  assign(x, sum);
}

void add_layer_norm_backward(const at::Tensor& grad, const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& rstd,
                             const at::Tensor& mean, const at::Tensor& gamma, const OptionalTensor& grad_sum,
                             at::Tensor& dx, at::Tensor& grad_gamma, at::Tensor& grad_beta) {
  const at::Tensor by_sum =
      sum_layer_norm_backward(grad, at::add(x1.to(at::kFloat), x2), gamma, mean, rstd, grad_gamma, grad_beta);
  assign(dx, grad_sum ? at::add(by_sum, *grad_sum) : by_sum);
}

void deep_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& gx, const at::Tensor& gamma,
                        const at::Tensor& mean, const at::Tensor& rstd, double alpha, at::Tensor& dx, at::Tensor& dgx,
                        at::Tensor& grad_beta, at::Tensor& grad_gamma) {
  const at::Tensor sum = at::add(gx.to(at::kFloat), x, alpha);
  const at::Tensor by_sum = sum_layer_norm_backward(grad, sum, gamma, mean, rstd, grad_gamma, grad_beta);
  assign(dx, at::mul(by_sum, alpha));
  assign(dgx, by_sum);
}

// ---- root-mean-square normalisation

at::DimVector last_dims(int64_t count) {
  at::DimVector dims;
  for (int64_t i = 1; i <= count; ++i) dims.push_back(-i);
  return dims;
}

// x * rstd * gamma in float32; rstd = 1 / sqrt(mean(x^2) + eps) over the dimensions of gamma.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& gamma, double eps, at::Tensor& rstd) {
  const at::Tensor values = x.to(at::kFloat);
  const at::Tensor inverse = at::square(values).mean(last_dims(gamma.dim()), true).add_(eps).rsqrt_();
  assign_statistic(rstd, inverse);
  return at::mul(values, inverse).mul_(gamma);
}

void rms_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& rstd, const at::Tensor& gamma,
                       at::Tensor& dx, at::Tensor& grad_gamma) {
  const at::DimVector dims = last_dims(gamma.dim());
  at::DimVector rows(x.dim(), 1), leading;
  for (int64_t i = 0; i < x.dim() - gamma.dim(); ++i) {
    rows[i] = x.size(i);
    leading.push_back(i);
  }
  const at::Tensor inverse = rstd.reshape(rows);
  const at::Tensor normalised = at::mul(x.to(at::kFloat), inverse);
  const at::Tensor by_normalised = at::mul(grad.to(at::kFloat), gamma);
  const at::Tensor along = at::mul(by_normalised, normalised).mean(dims, true);
  assign(dx, at::sub(by_normalised, at::mul(normalised, along)).mul_(inverse));
  const at::Tensor by_gamma = at::mul(normalised, grad);
  assign(grad_gamma, leading.empty() ? by_gamma : by_gamma.sum(leading));
}

// The sum is rounded to the inputs' dtype before it is normalised, since it is an output too.
void add_rms_norm(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma, double eps, at::Tensor& y,
                  at::Tensor& rstd, at::Tensor& x) {
  const at::Tensor sum = at::add(x1, x2);
  assign(y, rms_norm(sum, gamma, eps, rstd));
  assign(x, sum);
}

void add_rms_norm_cast(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma, double eps, at::Tensor& y1,
                       at::Tensor& y2, at::Tensor& rstd, at::Tensor& x) {
  const at::Tensor sum = at::add(x1, x2);
  const at::Tensor result = rms_norm(sum, gamma, eps, rstd);
  assign(y1, result);
  assign(y2, result);
  assign(x, sum);
}

}  // namespace

ACLNN(BatchNorm,
      (In, input)(OptIn, weight)(OptIn, bias)(OptOut, runningMean)(OptOut, runningVar)(Bool, training)(
          Double, momentum)(Double, eps)(Out, output)(OptOut, saveMean)(OptOut, saveInvstd),
      batch_norm(input, weight, bias, runningMean, runningVar, training, momentum, eps, output, saveMean, saveInvstd))
ACLNN(BatchNormBackward,
      (In, gradOut)(In, input)(OptIn, weight)(OptIn, runningMean)(OptIn, runningVar)(OptIn, saveMean)(OptIn,
                                                                                                      saveInvstd)(
          Bool, training)(Double, eps)(Bools, outputMask)(OptOut, gradInput)(OptOut, gradWeight)(OptOut, gradBias),
      batch_norm_backward(gradOut, input, weight, runningMean, runningVar, saveMean, saveInvstd, training, eps,
                          outputMask, gradInput, gradWeight, gradBias))
ACLNN(BatchNormStats, (In, input)(Double, eps)(Out, mean)(Out, invstd), batch_norm_stats(input, eps, mean, invstd))
ACLNN(BatchNormElemt, (In, input)(OptIn, weight)(OptIn, bias)(In, mean)(In, invstd)(Double, eps)(Out, output),
      batch_norm_elemt(input, weight, bias, mean, invstd, output))
ACLNN(BatchNormReduceBackward,
      (In, gradOut)(In, input)(In, mean)(In, invstd)(OptIn, weight)(Bool, inputG)(Bool, weightG)(Bool, biasG)(
          OptOut, sumDy)(OptOut, sumDyXmu)(OptOut, gradWeight)(OptOut, gradBias),
      batch_norm_reduce_backward(gradOut, input, mean, invstd, sumDy, sumDyXmu, gradWeight, gradBias))
ACLNN(BatchNormElemtBackward,
      (In, gradOut)(In, input)(In, mean)(In, invstd)(OptIn, weight)(In, sumDy)(In, sumDyXmu)(In, counter)(Out,
                                                                                                          gradInput),
      batch_norm_elemt_backward(gradOut, input, mean, invstd, weight, sumDy, sumDyXmu, counter, gradInput))
ACLNN(BatchNormGatherStatsWithCounts,
      (In, input)(In, mean)(In, invstd)(OptOut, runningMean)(OptOut, runningVar)(Double, momentum)(Double, eps)(
          In, counts)(Out, meanAll)(Out, invstdAll),
      batch_norm_gather(mean, invstd, runningMean, runningVar, momentum, eps, counts, meanAll, invstdAll))
ACLNN(BatchNormReduce, (In, x)(Out, sum)(Out, squareSum), batch_norm_reduce(x, sum, squareSum))
ACLNN(SyncBatchNormGatherStats,
      (In, totalSum)(In, totalSquareSum)(In, sampleCount)(OptOut, mean)(OptOut, variance)(Float, momentum)(Float, eps)(
          Out, batchMean)(Out, batchInvstd),
      sync_batch_norm_gather(totalSum, totalSquareSum, sampleCount, mean, variance, momentum, eps, batchMean,
                             batchInvstd))

#define LAYER_NORM(NAME)                                                                                       \
  ACLNN(NAME,                                                                                                  \
        (In, input)(Ints, normalizedShape)(OptIn, weightOptional)(OptIn, biasOptional)(Double, eps)(Out, out)( \
            OptOut, meanOutOptional)(OptOut, rstdOutOptional),                                                 \
        layer_norm(input, normalizedShape, weightOptional, biasOptional, eps, out, meanOutOptional, rstdOutOptional))
LAYER_NORM(LayerNorm)
LAYER_NORM(FastLayerNorm)
ACLNN(LayerNormBackward,
      (In, gradOut)(In, input)(Ints, normalizedShape)(In, mean)(In, rstd)(OptIn, weightOptional)(OptIn, biasOptional)(
          Bools, outputMask)(OptOut, gradInputOut)(OptOut, gradWeightOut)(OptOut, gradBiasOut),
      layer_norm_backward(gradOut, input, normalizedShape, mean, rstd, weightOptional, biasOptional, outputMask,
                          gradInputOut, gradWeightOut, gradBiasOut))
ACLNN(AddLayerNorm,
      (In, x1)(In, x2)(In, gamma)(In, beta)(OptIn, biasOptional)(Double, epsilon)(Bool, additionalOutput)(Out, yOut)(
          Out, meanOut)(Out, rstdOut)(OptOut, xOut),
      add_layer_norm(x1, x2, gamma, beta, biasOptional, epsilon, yOut, meanOut, rstdOut, xOut))
ACLNN(AddLayerNormGrad,
      (In, dy)(In, x1)(In, x2)(In, rstd)(In, mean)(In, gamma)(OptIn,
                                                              dsumOptional)(Out, dxOut)(Out, dgammaOut)(Out, dbetaOut),
      add_layer_norm_backward(dy, x1, x2, rstd, mean, gamma, dsumOptional, dxOut, dgammaOut, dbetaOut))
ACLNN(DeepNorm,
      (In, x)(In, gx)(In, beta)(In, gamma)(Double, alpha)(Double, epsilon)(Out, meanOut)(Out, rstdOut)(Out, yOut),
      sum_layer_norm(at::add(gx.to(at::kFloat), x, alpha), gamma, beta, epsilon, yOut, meanOut, rstdOut))
ACLNN(DeepNormGrad,
      (In, dy)(In, x)(In, gx)(In, gamma)(In, mean)(In, rstd)(Double,
                                                             alpha)(Out, dxOut)(Out, dgxOut)(Out, dbetaOut)(Out,
                                                                                                            dgammaOut),
      deep_norm_backward(dy, x, gx, gamma, mean, rstd, alpha, dxOut, dgxOut, dbetaOut, dgammaOut))

ACLNN(RmsNorm, (In, x)(In, gamma)(Double, epsilon)(Out, yOut)(OptOut, rstdOut),
      assign(yOut, rms_norm(x, gamma, epsilon, rstdOut)))
ACLNN(RmsNormGrad, (In, dy)(In, x)(In, rstd)(In, gamma)(Out, dxOut)(Out, dgammaOut),
      rms_norm_backward(dy, x, rstd, gamma, dxOut, dgammaOut))
ACLNN(GemmaRmsNorm, (In, x)(In, gamma)(Double, epsilon)(Out, yOut)(OptOut, rstdOut),
      assign(yOut, rms_norm(x, at::add(gamma.to(at::kFloat), 1), epsilon, rstdOut)))
ACLNN(AddRmsNorm, (In, x1)(In, x2)(In, gamma)(Double, epsilon)(Out, yOut)(OptOut, rstdOut)(Out, xOut),
      add_rms_norm(x1, x2, gamma, epsilon, yOut, rstdOut, xOut))
ACLNN(AddRmsNormCast, (In, x1)(In, x2)(In, gamma)(Double, epsilon)(Out, y1Out)(Out, y2Out)(OptOut, rstdOut)(Out, xOut),
      add_rms_norm_cast(x1, x2, gamma, epsilon, y1Out, y2Out, rstdOut, xOut))
// The normalised sum replaces x1, the sum x2.
ACLNN(InplaceAddRmsNorm, (Ref, x1Ref)(Ref, x2Ref)(In, gamma)(Double, epsilon)(OptOut, rstdOut),
      add_rms_norm(x1Ref, x2Ref, gamma, epsilon, x1Ref, rstdOut, x2Ref))
