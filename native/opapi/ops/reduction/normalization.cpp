// native/opapi/ops/reduction/normalization.cpp
// Layer and root-mean-square normalisation with their gradients, and the forms fused with an addition. ATen's functions
// for layers have no out= form; its kernels are called instead, with the output itself.
#include "opapi/ops/reduction/normalization.h"

#include <ATen/native/layer_norm.h>

namespace {

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
  const auto [input_wanted, weight_wanted, bias_wanted] = mask<3>(output_mask);
  if (input_wanted) require_sizes(grad_input, "gradInputOut", input.sizes());
  if (weight_wanted) require_sizes(grad_weight, "gradWeightOut", shape);
  if (bias_wanted) require_sizes(grad_bias, "gradBiasOut", shape);
  // ATen's kernel adds up the gradients of half precision in half precision.
  const at::Tensor dense = widened(input).contiguous();
  const at::Tensor scale = or_undefined(parameter(weight, dense));
  const auto [rows, columns] = at::native::_check_layer_norm_inputs(dense, shape, scale, or_undefined(bias));
  const at::TensorOptions options = dense.options();
  at::Tensor by_input, by_weight, by_bias;
  if (input_wanted) by_input = result_for(grad_input, dense);
  if (weight_wanted) by_weight = at::zeros(shape, options);
  if (bias_wanted) by_bias = at::zeros(shape, options);
  if (rows > 0) {
    at::native::LayerNormBackwardKernel(at::kCPU, widened(grad), dense, *parameter(mean, dense),
                                        *parameter(rstd, dense), scale, rows, columns, &by_input, &by_weight, &by_bias);
  }
  assign_wanted(grad_input, by_input);
  assign_wanted(grad_weight, by_weight);
  assign_wanted(grad_bias, by_bias);
}

// A mean or its like: one for all normalised dimensions, which are as many as `gamma` has. Called first in a body,
// before it asks for memory: phase 1 sees nothing that is checked later (dry_run.h).
void require_statistic(const at::Tensor& statistic, const char* name, const at::Tensor& x, const at::Tensor& gamma) {
  at::DimVector sizes(x.sizes());
  std::fill(sizes.end() - std::min(gamma.dim(), x.dim()), sizes.end(), 1);
  require_sizes(statistic, name, sizes);
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
  require_statistic(mean, "meanOut", x1, gamma);
  require_statistic(rstd, "rstdOut", x1, gamma);
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

void deep_norm(const at::Tensor& x, const at::Tensor& gx, const at::Tensor& gamma, const at::Tensor& beta, double alpha,
               double eps, at::Tensor& y, at::Tensor& mean, at::Tensor& rstd) {
  require_statistic(mean, "meanOut", x, gamma);
  require_statistic(rstd, "rstdOut", x, gamma);
  sum_layer_norm(at::add(gx.to(at::kFloat), x, alpha), gamma, beta, eps, y, mean, rstd);
}

void deep_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& gx, const at::Tensor& gamma,
                        const at::Tensor& mean, const at::Tensor& rstd, double alpha, at::Tensor& dx, at::Tensor& dgx,
                        at::Tensor& grad_beta, at::Tensor& grad_gamma) {
  const at::Tensor sum = at::add(gx.to(at::kFloat), x, alpha);
  const at::Tensor by_sum = sum_layer_norm_backward(grad, sum, gamma, mean, rstd, grad_gamma, grad_beta);
  assign(dx, at::mul(by_sum, alpha));
  assign(dgx, by_sum);
}

void ada_layer_norm_backward(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& rstd,
                             const at::Tensor& mean, const at::Tensor& scale, const OptionalTensor& weight,
                             const OptionalTensor& bias, at::Tensor& grad_input, at::Tensor& grad_scale,
                             at::Tensor& grad_shift, at::Tensor& grad_weight, at::Tensor& grad_bias) {
  const at::Tensor g = to_float(grad), inverse = to_float(rstd);
  const at::Tensor unit = (to_float(input) - to_float(mean)) * inverse;
  const at::Tensor scaled = g * (1 + of_sequence(scale, input));
  const at::Tensor by_unit = weight ? scaled * to_float(*weight) : scaled;
  const at::Tensor along = unit * (by_unit * unit).mean(-1, true);
  if (grad_input.defined()) assign(grad_input, (by_unit - by_unit.mean(-1, true) - along) * inverse);
  const auto over_sequence = [](const at::Tensor& values, at::Tensor& out) {
    if (out.defined()) assign(out, values.sum(-2).reshape(out.sizes()));
  };
  at::Tensor affine = weight ? unit * to_float(*weight) : unit;
  if (bias) affine = affine + to_float(*bias);
  over_sequence(g * affine, grad_scale);
  over_sequence(g, grad_shift);
  if (grad_weight.defined()) assign(grad_weight, (scaled * unit).sum_to_size(grad_weight.sizes()));
  if (grad_bias.defined()) assign(grad_bias, scaled.sum_to_size(grad_bias.sizes()));
}

void store_ada_layer_norm(const AdaLayerNorm& result, at::Tensor& out, at::Tensor& mean, at::Tensor& rstd) {
  assign(out, result.values);
  assign_statistic(mean, result.mean);
  assign_statistic(rstd, result.rstd);
}

// The chips' ways to compute it differ in precision; here all are the precise one.
void check_implementation(int64_t mode) {
  require(mode >= 0 && mode <= 2, ACLNN_ERR_PARAM_INVALID, "implMode is ", mode, "; allowed: 0, 1, 2");
}

void modulate(const at::Tensor& self, const OptionalTensor& scale, const OptionalTensor& shift, at::Tensor& out) {
  at::Tensor result = to_float(self);
  if (scale) result = result * (1 + of_sequence(*scale, self));
  if (shift) result = result + of_sequence(*shift, self);
  assign(out, result);
}

// As the document and the device have it, the gradient of the input is scaled by `scale`, not by 1 + scale.
void modulate_backward(const at::Tensor& grad, const at::Tensor& input, const OptionalTensor& scale,
                       const OptionalTensor& shift, at::Tensor& grad_input, at::Tensor& grad_scale,
                       at::Tensor& grad_shift) {
  const at::Tensor g = to_float(grad);
  assign(grad_input, scale ? g * of_sequence(*scale, input) : g);
  if (scale && grad_scale.defined()) assign(grad_scale, (g * input).sum(1));
  if (shift && grad_shift.defined()) assign(grad_shift, g.sum(1));
}

// ---- root-mean-square normalisation

at::DimVector last_dims(int64_t count) {
  at::DimVector dims;
  for (int64_t i = 1; i <= count; ++i) dims.push_back(-i);
  return dims;
}

// Called first in a body, before it asks for memory: phase 1 sees nothing that is checked later (dry_run.h).
void require_last_sizes(const at::Tensor& gamma, const at::Tensor& x) {
  require(x.dim() >= gamma.dim() && x.sizes().slice(x.dim() - gamma.dim()) == gamma.sizes(), ACLNN_ERR_PARAM_INVALID,
          "gamma has shape ", gamma.sizes(), "; it must be the last sizes of x, which has shape ", x.sizes());
}

// x * rstd * gamma in float32; rstd = 1 / sqrt(mean(x^2) + eps) over the dimensions of gamma.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& gamma, double eps, at::Tensor& rstd) {
  require_last_sizes(gamma, x);
  require_statistic(rstd, "rstdOut", x, gamma);
  const at::Tensor values = x.to(at::kFloat);
  const at::Tensor inverse = at::square(values).mean(last_dims(gamma.dim()), true).add_(eps).rsqrt_();
  assign_statistic(rstd, inverse);
  return at::mul(values, inverse).mul_(gamma);
}

void gemma_rms_norm(const at::Tensor& x, const at::Tensor& gamma, double eps, at::Tensor& y, at::Tensor& rstd) {
  require_last_sizes(gamma, x);
  require_statistic(rstd, "rstdOut", x, gamma);
  assign(y, rms_norm(x, at::add(gamma.to(at::kFloat), 1), eps, rstd));
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
  require_last_sizes(gamma, x1);
  require_statistic(rstd, "rstdOut", x1, gamma);
  const at::Tensor sum = at::add(x1, x2);
  assign(y, rms_norm(sum, gamma, eps, rstd));
  assign(x, sum);
}

void add_rms_norm_cast(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma, double eps, at::Tensor& y1,
                       at::Tensor& y2, at::Tensor& rstd, at::Tensor& x) {
  require_last_sizes(gamma, x1);
  require_statistic(rstd, "rstdOut", x1, gamma);
  const at::Tensor sum = at::add(x1, x2);
  const at::Tensor result = rms_norm(sum, gamma, eps, rstd);
  assign(y1, result);
  assign(y2, result);
  assign(x, sum);
}

}  // namespace

#define LAYER_NORM(NAME)                                                                                       \
  ACLNN(NAME,                                                                                                  \
        (In, input)(Ints, normalizedShape)(OptIn, weightOptional)(OptIn, biasOptional)(Double, eps)(Out, out)( \
            OptOut, meanOutOptional)(OptOut, rstdOutOptional),                                                 \
        layer_norm(input, normalizedShape, weightOptional, biasOptional, eps, out, meanOutOptional, rstdOutOptional))
LAYER_NORM(LayerNorm)
LAYER_NORM(FastLayerNorm)
ACLNN(LayerNormWithImplMode,
      (In, input)(Ints, normalizedShape)(OptIn, weightOptional)(OptIn, biasOptional)(Double, eps)(Out, out)(
          OptOut, meanOutOptional)(OptOut, rstdOutOptional)(Int32, implMode),
      check_implementation(implMode);
      layer_norm(input, normalizedShape, weightOptional, biasOptional, eps, out, meanOutOptional, rstdOutOptional))
ACLNN(AdaLayerNorm,
      (In, x)(In, scale)(In, shift)(OptIn, weightOptional)(OptIn, biasOptional)(Double, epsilon)(Out, out),
      store_ada_layer_norm(ada_layer_norm(x, scale, shift, weightOptional, biasOptional, epsilon), out, NoTensor{},
                           NoTensor{}))
ACLNN(AdaLayerNormV2,
      (In, x)(In, scale)(In, shift)(OptIn, weightOptional)(OptIn, biasOptional)(Double, epsilon)(Out, out)(
          OptOut, meanOutOptional)(OptOut, rstdOutOptional),
      store_ada_layer_norm(ada_layer_norm(x, scale, shift, weightOptional, biasOptional, epsilon), out, meanOutOptional,
                           rstdOutOptional))
ACLNN(AdaLayerNormBackward,
      (In, gradOut)(In, input)(Ints, normalizedShape)(In, rstd)(In, mean)(In, scale)(In, shift)(OptIn, weightOptional)(
          OptIn, biasOptional)(OptOut, gradInputOut)(OptOut, gradScaleOut)(OptOut, gradShiftOut)(OptOut, gradWeightOut)(
          OptOut, gradBiasOut),
      ada_layer_norm_backward(gradOut, input, rstd, mean, scale, weightOptional, biasOptional, gradInputOut,
                              gradScaleOut, gradShiftOut, gradWeightOut, gradBiasOut))
ACLNN(Modulate, (In, self)(OptIn, scaleOptional)(OptIn, shiftOptional)(Out, out),
      modulate(self, scaleOptional, shiftOptional, out))
ACLNN(ModulateBackward,
      (In, grad_output)(In, input)(OptIn, scale)(OptIn, shift)(Out, grad_input)(OptOut, grad_scale)(OptOut, grad_shift),
      modulate_backward(grad_output, input, scale, shift, grad_input, grad_scale, grad_shift))
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
      deep_norm(x, gx, gamma, beta, alpha, epsilon, yOut, meanOut, rstdOut))
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
      gemma_rms_norm(x, gamma, epsilon, yOut, rstdOut))
ACLNN(AddRmsNorm, (In, x1)(In, x2)(In, gamma)(Double, epsilon)(Out, yOut)(OptOut, rstdOut)(Out, xOut),
      add_rms_norm(x1, x2, gamma, epsilon, yOut, rstdOut, xOut))
ACLNN(AddRmsNormCast, (In, x1)(In, x2)(In, gamma)(Double, epsilon)(Out, y1Out)(Out, y2Out)(OptOut, rstdOut)(Out, xOut),
      add_rms_norm_cast(x1, x2, gamma, epsilon, y1Out, y2Out, rstdOut, xOut))
// The normalised sum replaces x1, the sum x2.
ACLNN(InplaceAddRmsNorm, (Ref, x1Ref)(Ref, x2Ref)(In, gamma)(Double, epsilon)(OptOut, rstdOut),
      add_rms_norm(x1Ref, x2Ref, gamma, epsilon, x1Ref, rstdOut, x2Ref))

#undef LAYER_NORM
