// native/opapi/ops/common/activations.h
// Activations that ATen does not have under the names or codes of aclnn.
#pragma once

#include "opapi/opapi.h"

namespace opwright::opapi {

inline constexpr double kFastGelu = 1.702;  // x * sigmoid(1.702 x)

// In the dtype of `values`.
inline at::Tensor fast_gelu(const at::Tensor& values) { return values.mul(kFastGelu).sigmoid_().mul_(values); }

// A code of GELU's form as ATen's name.
inline const char* gelu_form(int64_t approximate) {
  require(approximate == 0 || approximate == 1, ACLNN_ERR_PARAM_INVALID, "approximate is ", approximate,
          "; allowed: 0 (none), 1 (tanh)");
  return approximate == 1 ? "tanh" : "none";
}

}  // namespace opwright::opapi
