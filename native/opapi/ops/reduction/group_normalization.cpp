// native/opapi/ops/reduction/group_normalization.cpp
// Group normalisation with its gradient, and fused with swish. ATen's functions have no out= form; its kernels are
// called instead, with the output itself.
#include <ATen/native/group_norm.h>

#include <limits>

#include "opapi/ops/common/low_precision.h"
#include "opapi/ops/reduction/normalization.h"

namespace {

void check_groups(int64_t channels, int64_t groups) {
  require(groups > 0 && channels % groups == 0, ACLNN_ERR_PARAM_INVALID, "group is ", groups,
          "; it must divide the number of channels, ", channels);
}

void group_norm(const at::Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias, int64_t n, int64_t c,
                int64_t hxw, int64_t groups, double eps, at::Tensor& out, at::Tensor& mean, at::Tensor& rstd) {
  check_groups(c, groups);
  require_sizes(mean, "meanOut", {n, groups});
  require_sizes(rstd, "rstdOut", {n, groups});
  const at::Tensor dense = input.contiguous();
  at::Tensor result = result_for(out, dense);
  const at::TensorOptions options = input.options().dtype(statistics_dtype(input));
  // ATen's results for groups without elements.
  at::Tensor average = at::zeros({n, groups}, options);
  at::Tensor inverse = at::full({n, groups}, std::numeric_limits<double>::quiet_NaN(), options);
  if (input.numel() > 0) {
    at::native::GroupNormKernel(at::kCPU, dense, or_undefined(scale_parameter(weight, input, {c})),
                                or_undefined(parameter(bias, input)), n, c, hxw, groups, eps, result, average, inverse);
  }
  assign(out, result);
  assign_statistic(mean, average);
  assign_statistic(rstd, inverse);
}

void group_norm_backward(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& mean,
                         const at::Tensor& rstd, const OptionalTensor& weight, int64_t n, int64_t c, int64_t hxw,
                         int64_t groups, const std::array<bool, 3>& wanted, at::Tensor& grad_input,
                         at::Tensor& grad_weight, at::Tensor& grad_bias) {
  check_groups(c, groups);
  const at::Tensor dense = input.contiguous();
  const auto [input_wanted, weight_wanted, bias_wanted] = wanted;
  const at::TensorOptions options = input.options().dtype(statistics_dtype(input));
  at::Tensor by_input, by_weight, by_bias;
  if (input_wanted) by_input = result_for(grad_input, dense);
  if (weight_wanted) by_weight = at::zeros({c}, options);
  if (bias_wanted) by_bias = at::zeros({c}, options);
  if (input.numel() > 0) {
    at::native::GroupNormBackwardKernel(at::kCPU, grad.contiguous(), dense, *parameter(mean, input),
                                        *parameter(rstd, input), or_undefined(scale_parameter(weight, input, {c})), n,
                                        c, hxw, groups, by_input, by_weight, by_bias);
  }
  assign_wanted(grad_input, by_input);
  assign_wanted(grad_weight, by_weight);
  assign_wanted(grad_bias, by_bias);
}

int64_t pixels(const at::Tensor& input) { return c10::multiply_integers(input.sizes().slice(2)); }

// Group normalisation followed by swish(z) = z * sigmoid(scale * z).
void group_norm_swish(const at::Tensor& x, const OptionalTensor& gamma, const OptionalTensor& beta, int64_t groups,
                      double eps, bool activate, double scale, at::Tensor& y, at::Tensor& mean, at::Tensor& rstd) {
  // Before the body asks for memory: phase 1 sees nothing that is checked later (dry_run.h).
  require_sizes(mean, "meanOut", {x.size(0), groups});
  require_sizes(rstd, "rstdOut", {x.size(0), groups});
  const at::Tensor values = x.to(at::kFloat);
  at::Tensor normalised = at::empty(x.sizes(), values.options());
  group_norm(values, gamma, beta, x.size(0), x.size(1), pixels(x), groups, eps, normalised, mean, rstd);
  if (activate) normalised.mul_(at::mul(normalised, scale).sigmoid_());
  assign(y, normalised);
}

void group_norm_silu_quant(const at::Tensor& self, const OptionalTensor& gamma, const OptionalTensor& beta,
                           const at::Tensor& scale, int64_t groups, double eps, bool activate, Coded& out,
                           at::Tensor& mean, at::Tensor& rstd) {
  require(activate, ACLNN_ERR_PARAM_INVALID, "activateSilu is false; allowed: true");
  require(scale.numel() == 1 || scale.numel() == self.size(1), ACLNN_ERR_PARAM_INVALID, "quantScale has ",
          scale.numel(), " elements; allowed: 1, ", self.size(1));
  at::Tensor values = at::empty(self.sizes(), at::kFloat);
  group_norm_swish(self, gamma, beta, groups, eps, /*activate=*/true, 1.0, values, mean, rstd);
  const at::Tensor divisor = to_float(scale);
  store(out, values / (divisor.numel() == 1 ? divisor.reshape({}) : per_channel(divisor, self)));
}

void group_norm_swish_backward(const at::Tensor& grad, const at::Tensor& mean, const at::Tensor& rstd,
                               const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, int64_t groups,
                               double scale, bool with_gamma, bool with_beta, at::Tensor& dx, at::Tensor& grad_gamma,
                               at::Tensor& grad_beta) {
  const at::Tensor values = x.to(at::kFloat).contiguous();
  const int64_t n = x.size(0), c = x.size(1);
  const at::Tensor average = mean.to(at::kFloat).contiguous(), inverse = rstd.to(at::kFloat).contiguous();
  const at::Tensor normalised = at::sub(values.view({n, groups, -1}), average.view({n, groups, 1}))
                                    .mul_(inverse.view({n, groups, 1}))
                                    .view(x.sizes())
                                    .mul_(per_channel(gamma, x))
                                    .add_(per_channel(beta, x));
  const at::Tensor gate = at::mul(normalised, scale).sigmoid_();
  // d/dz of z * s(k z) is s + k z s (1 - s)
  const at::Tensor slope = at::mul(normalised, scale).mul_(at::rsub(gate, 1)).add_(1).mul_(gate);
  group_norm_backward(slope.mul_(grad), values, average, inverse, gamma, n, c, pixels(x), groups,
                      {true, with_gamma, with_beta}, dx, grad_gamma, grad_beta);
}

}  // namespace

ACLNN(GroupNorm,
      (In, self)(OptIn, gamma)(OptIn, beta)(Int, N)(Int, C)(Int, HxW)(Int, group)(Double, eps)(Out, out)(
          OptOut, meanOut)(OptOut, rstdOut),
      group_norm(self, gamma, beta, N, C, HxW, group, eps, out, meanOut, rstdOut))
ACLNN(GroupNormBackward,
      (In, gradOut)(In, input)(In, mean)(In, rstd)(OptIn, gamma)(Int, N)(Int, C)(Int, HxW)(Int, group)(
          Bools, outputMask)(OptOut, gradInput)(OptOut, gradGammaOut)(OptOut, gradBetaOut),
      group_norm_backward(gradOut, input, mean, rstd, gamma, N, C, HxW, group, mask<3>(outputMask), gradInput,
                          gradGammaOut, gradBetaOut))
ACLNN(GroupNormSilu,
      (In, self)(OptIn, gamma)(OptIn, beta)(Int, group)(Double, eps)(Out, out)(OptOut, meanOut)(OptOut, rstdOut),
      group_norm_swish(self, gamma, beta, group, eps, true, 1.0, out, meanOut, rstdOut))
ACLNN(GroupNormSiluV2,
      (In, self)(OptIn, gamma)(OptIn, beta)(Int, group)(Double, eps)(Bool, activateSilu)(Out, out)(OptOut,
                                                                                                   meanOut)(OptOut,
                                                                                                            rstdOut),
      group_norm_swish(self, gamma, beta, group, eps, activateSilu, 1.0, out, meanOut, rstdOut))
ACLNN(GroupNormSiluQuant,
      (In, self)(OptIn, gammaOptional)(OptIn, betaOptional)(In, quantScale)(Int, group)(Double, eps)(
          Bool, activateSilu)(CodedOut, out)(OptOut, meanOut)(OptOut, rstdOut),
      group_norm_silu_quant(self, gammaOptional, betaOptional, quantScale, group, eps, activateSilu, out, meanOut,
                            rstdOut))
ACLNN(GroupNormSwish,
      (In, x)(OptIn, gamma)(OptIn, beta)(Int, numGroups)(Text, dataFormatOptional)(Double, eps)(Bool, activateSwish)(
          Double, swishScale)(Out, yOut)(OptOut, meanOut)(OptOut, rstdOut),
      group_norm_swish(x, gamma, beta, numGroups, eps, activateSwish, swishScale, yOut, meanOut, rstdOut))
ACLNN(GroupNormSwishGrad,
      (In, dy)(In, mean)(In, rstd)(In, x)(In, gamma)(In, beta)(Int, numGroups)(Text, dataFormatOptional)(
          Double, swishScale)(Bool, dgammaIsRequire)(Bool, dbetaIsRequire)(Out, dxOut)(OptOut, dgammaOut)(OptOut,
                                                                                                          dbetaOut),
      group_norm_swish_backward(dy, mean, rstd, x, gamma, beta, numGroups, swishScale, dgammaIsRequire, dbetaIsRequire,
                                dxOut, dgammaOut, dbetaOut))
