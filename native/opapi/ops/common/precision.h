// native/opapi/ops/common/precision.h
// Some of ATen's kernels for half precision round after every step; the device computes in float32 and rounds once.
#pragma once

#include "opapi/opapi.h"

namespace opwright::opapi {

inline at::ScalarType computed_in(at::ScalarType dtype) { return kind::is_half(dtype) ? at::kFloat : dtype; }

// An undefined tensor stays one. In a dry run a conversion would ask for memory, and end it.
inline at::Tensor widened(const at::Tensor& tensor) {
  if (!tensor.defined() || !kind::is_half(tensor.scalar_type())) return tensor;
  if (is_dry_run()) {
    if (at::Tensor wide = stand_in_of(tensor, at::kFloat); wide.defined()) return wide;
  }
  return tensor.to(at::kFloat);
}
inline OptionalTensor widened(const OptionalTensor& tensor) {
  return tensor ? OptionalTensor(widened(*tensor)) : std::nullopt;
}

inline const at::Scalar& widened(const at::Scalar& number) { return number; }

// compute(target) with `out`, or with a float32 tensor that is then rounded into it.
template <class Compute>
void rounded_once(at::Tensor& out, const Compute& compute) {
  into(out, computed_in(out.scalar_type()), compute);
}

// The dtype in which a product or convolution of `dtype` is computed: that of float16 in float32. ATen's own float16
// kernels need a CPU with AVX512-FP16: without it they take fifteen to thirty times as long as float32 with both
// conversions.
inline at::ScalarType product_dtype(at::ScalarType dtype) { return dtype == at::kHalf ? at::kFloat : dtype; }

inline at::Tensor for_product(const at::Tensor& operand) { return operand.to(product_dtype(operand.scalar_type())); }
inline OptionalTensor for_product(const OptionalTensor& operand) {
  return operand ? OptionalTensor(for_product(*operand)) : std::nullopt;
}

}  // namespace opwright::opapi
