// native/opapi/ops/float16_products.h
// Products and convolutions of float16 are computed in float32 and rounded once, as an NPU's matrix unit does. ATen's
// own float16 kernels need a CPU with AVX512-FP16: without it they take fifteen to thirty times as long as float32 with
// both conversions.
#pragma once

#include <ATen/core/Tensor.h>

namespace opwright::opapi {

// The dtype in which a product of `dtype` is computed.
inline at::ScalarType product_dtype(at::ScalarType dtype) noexcept { return dtype == at::kHalf ? at::kFloat : dtype; }

inline at::Tensor for_product(const at::Tensor& operand) { return operand.to(product_dtype(operand.scalar_type())); }

inline std::optional<at::Tensor> for_product(const std::optional<at::Tensor>& operand) {
  return operand ? std::optional(for_product(*operand)) : std::nullopt;
}

}  // namespace opwright::opapi
