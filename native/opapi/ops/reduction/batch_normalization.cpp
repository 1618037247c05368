// native/opapi/ops/reduction/batch_normalization.cpp
// Batch normalisation with its gradient, and the parts of its synchronised form.
#include "opapi/ops/reduction/normalization.h"

namespace {

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
  // ATen's kernels take some strides for a memory format that both have, and then read other elements. They add up the
  // gradients of half precision in half precision.
  const at::Tensor dense = widened(input).contiguous();
  const auto [by_input, by_weight, by_bias] = at::native_batch_norm_backward(
      widened(grad).contiguous(), dense, parameter(weight, dense), parameter(running_mean, dense),
      parameter(running_var, dense), parameter(save_mean, dense), parameter(save_invstd, dense), training, eps,
      mask<3>(output_mask));
  assign_wanted(grad_input, by_input);
  assign_wanted(grad_weight, by_weight);
  assign_wanted(grad_bias, by_bias);
}

// The version chooses between two ways to compute the same.
void check_version(int64_t version) {
  require(version == 0 || version == 1, ACLNN_ERR_PARAM_INVALID, "version is ", version, "; allowed: 0, 1");
}

struct AffineQuant {
  double scale, zero_point;
};

AffineQuant affine(const at::Scalar& scale, const at::Scalar& zero_point) {
  return {scale.toDouble(), zero_point.toDouble()};
}

std::pair<double, double> bounds_of(at::ScalarType dtype) {
  if (dtype == at::kChar) return {-128, 127};
  if (dtype == at::kByte) return {0, 255};
  require(dtype == at::kInt, ACLNN_ERR_PARAM_INVALID, "output is ", dtype, "; allowed: int8, uint8, int32");
  return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
}

// Integers in, integers out, with given statistics.
void quantized_batch_norm(const at::Tensor& input, const at::Tensor& mean, const at::Tensor& var, const AffineQuant& in,
                          const AffineQuant& out, const OptionalTensor& weight, const OptionalTensor& bias, double eps,
                          at::Tensor& output) {
  const auto [lowest, highest] = bounds_of(output.scalar_type());
  require(input.dim() >= 2, ACLNN_ERR_PARAM_INVALID, "input has ", input.dim(), " dimensions; allowed: 4");
  const auto channels = [&](const at::Tensor& values) { return per_channel(values.to(at::kDouble), input); };
  at::Tensor values = (input.to(at::kDouble) - in.zero_point) * in.scale;
  values = (values - channels(mean)) * (channels(var) + eps).rsqrt_();
  if (weight) values = values * channels(*weight);
  if (bias) values = values + channels(*bias);
  assign(output, (values / out.scale + out.zero_point).round_().clamp_(lowest, highest));
}

// Each image and channel by itself. The statistics are the mean and the variance.
void instance_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, const std::string& format,
                   double eps, at::Tensor& y, at::Tensor& mean, at::Tensor& variance) {
  require(format == "NCHW" || format == "NHWC", ACLNN_ERR_PARAM_INVALID, "dataFormat is '", format,
          "'; allowed: NCHW, NHWC");
  require(x.dim() == 4, ACLNN_ERR_PARAM_INVALID, "x has ", x.dim(), " dimensions; allowed: 4");
  const bool channels_last = format == "NHWC";
  const std::vector<int64_t> dims = channels_last ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 3};
  const auto channels = [&](const at::Tensor& values) {
    return channels_last ? to_float(values) : per_channel(to_float(values), x);
  };
  const at::Tensor values = to_float(x), average = values.mean(dims, /*keepdim=*/true), centred = values - average;
  const at::Tensor spread = centred.square().mean(dims, /*keepdim=*/true);
  assign(y, centred * (spread + eps).rsqrt() * channels(gamma) + channels(beta));
  assign_statistic(mean, average);
  assign_statistic(variance, spread);
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
ACLNN(FastBatchNormBackward,
      (In, gradOut)(In, input)(OptIn, weight)(OptIn, runningMean)(OptIn, runningVar)(OptIn, saveMean)(
          OptIn, saveInvstd)(Bool, training)(Double, eps)(Bools, outputMask)(Int32, version)(OptOut, gradInput)(
          OptOut, gradWeight)(OptOut, gradBias),
      check_version(version);
      batch_norm_backward(gradOut, input, weight, runningMean, runningVar, saveMean, saveInvstd, training, eps,
                          outputMask, gradInput, gradWeight, gradBias))
ACLNN(QuantizedBatchNorm,
      (In, input)(In, mean)(In, var)(Scalar, inputScale)(Scalar, inputZeroPoint)(Scalar, outputScale)(
          Scalar, outputZeroPoint)(OptIn, weight)(OptIn, bias)(Float, epsilon)(Out, output),
      quantized_batch_norm(input, mean, var, affine(inputScale, inputZeroPoint), affine(outputScale, outputZeroPoint),
                           weight, bias, epsilon, output))
ACLNN(InstanceNorm, (In, x)(In, gamma)(In, beta)(Text, dataFormat)(Double, eps)(Out, y)(Out, mean)(Out, variance),
      instance_norm(x, gamma, beta, dataFormat, eps, y, mean, variance))
