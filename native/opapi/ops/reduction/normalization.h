// native/opapi/ops/reduction/normalization.h
// Shared by the tables of normalisations. Statistics are float32 for half inputs.
#pragma once

#include "opapi/ops/common/precision.h"

namespace opwright::opapi {

inline at::ScalarType statistics_dtype(const at::Tensor& input) { return computed_in(input.scalar_type()); }

// A parameter or statistic, dense in the statistics' dtype. ATen keeps its statistics in the dtype of the parameters.
inline OptionalTensor parameter(const OptionalTensor& tensor, const at::Tensor& input) {
  if (!tensor || !tensor->defined()) return std::nullopt;
  return tensor->to(statistics_dtype(input)).contiguous();
}

// The same for a scale. If there is none, ATen would compute half inputs with half statistics: scale by one instead.
inline OptionalTensor scale_parameter(const OptionalTensor& weight, const at::Tensor& input, at::IntArrayRef shape) {
  if (!weight && kind::is_half(input.scalar_type())) return at::ones(shape, at::kFloat);
  return parameter(weight, input);
}

// Where ATen's kernels write a result like `input`: they want dense memory of its dtype. If `out` is that, `assign` has
// nothing left to do.
inline at::Tensor result_for(const at::Tensor& out, const at::Tensor& input) {
  const bool fits =
      out.defined() && out.is_contiguous() && out.scalar_type() == input.scalar_type() && out.sizes() == input.sizes();
  return fits ? out : at::empty(input.sizes(), input.options());
}

// Statistics have one value per row or group; callers differ in the dimensions of size 1 they keep.
inline void assign_statistic(at::Tensor& out, const at::Tensor& result) {
  if (out.defined()) out.copy_(result.reshape(out.sizes()));
}

// An output that the mask may have left out.
inline void assign_wanted(at::Tensor& out, const at::Tensor& result) {
  if (result.defined()) assign(out, result);
}

// One value per channel (dimension 1) in a shape that broadcasts to `input`.
inline at::Tensor per_channel(const at::Tensor& values, const at::Tensor& input) {
  at::DimVector shape(input.dim(), 1);
  shape[1] = input.size(1);
  return values.reshape(shape);
}

// A parameter of each sequence, [.., H] or [.., 1, H], as float32 that broadcasts to x [.., S, H].
inline at::Tensor of_sequence(const at::Tensor& values, const at::Tensor& x) {
  const at::Tensor wide = to_float(values);
  return wide.dim() == x.dim() ? wide : wide.unsqueeze(-2);
}

// An optional parameter in float32.
inline OptionalTensor optional_float(const OptionalTensor& tensor) {
  return tensor ? OptionalTensor(to_float(*tensor)) : std::nullopt;
}

struct AdaLayerNorm {
  at::Tensor values, mean, rstd;  // float32
};

// Layer normalisation of the last dimension, scaled and moved by parameters of each sequence.
inline AdaLayerNorm ada_layer_norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                                   const OptionalTensor& weight, const OptionalTensor& bias, double eps) {
  require(x.dim() >= 2, ACLNN_ERR_PARAM_INVALID, "x has ", x.dim(), " dimensions; allowed: 2 and more");
  const std::vector<int64_t> normalized{x.size(-1)};
  auto [values, mean, rstd] =
      at::native_layer_norm(to_float(x), normalized, optional_float(weight), optional_float(bias), eps);
  return {values * (1 + of_sequence(scale, x)) + of_sequence(shift, x), mean, rstd};
}

}  // namespace opwright::opapi
