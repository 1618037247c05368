// native/opapi/ops/precision.h
// Some of ATen's kernels for half precision round after every step; the device computes in float32 and rounds once.
#pragma once

#include "opapi/opapi.h"

namespace opwright::opapi {

inline at::ScalarType computed_in(at::ScalarType dtype) { return kind::is_half(dtype) ? at::kFloat : dtype; }

inline at::Tensor widened(const at::Tensor& tensor) { return tensor.to(computed_in(tensor.scalar_type())); }
inline std::optional<at::Tensor> widened(const std::optional<at::Tensor>& tensor) {
  return tensor ? std::optional<at::Tensor>(widened(*tensor)) : std::nullopt;
}

// compute(target) with `out`, or with a float32 tensor that is then rounded into it.
template <class Compute>
void rounded_once(at::Tensor& out, const Compute& compute) {
  into(out, computed_in(out.scalar_type()), compute);
}

}  // namespace opwright::opapi
