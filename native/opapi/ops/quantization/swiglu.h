// native/opapi/ops/quantization/swiglu.h
// SwiGLU and its variants in float32, as the functions use them that quantize the result.
#pragma once

#include "opapi/opapi.h"

namespace opwright::opapi {

enum class SwigluMode : int64_t {
  kPlain = 0,          // silu(a) * b for the halves a and b
  kInterleaved = 1,    // a at even and b at odd positions: a * sigmoid(alpha a) * (b + bias) of clamped a and b
  kHalves = 2,         // the same for halves
  kClampedResult = 3,  // halves; silu(a) is clamped, and b
};

struct Gating {
  SwigluMode mode = SwigluMode::kPlain;
  int64_t dim = -1;
  bool left = true;  // the first half goes through the activation
  double limit = 0;  // 0: no clamp
  double alpha = 1.702;
  double bias = 1;
};

// All dimensions but the last are one.
inline at::Tensor by_rows(const at::Tensor& tensor) { return tensor.reshape({-1, tensor.size(-1)}); }

// From the parameters of functions that have all modes; the plain one has no limit (aclnnSwigluMxQuant.md).
OPWRIGHT_API Gating gating_of(int64_t mode, int64_t dim, bool left, double limit, double alpha, double bias);
OPWRIGHT_API at::Tensor gated(const at::Tensor& x, const Gating& gating);

// The gradient of plain SwiGLU along the last dimension, for the whole of x.
OPWRIGHT_API at::Tensor gated_gradient(const at::Tensor& x, const at::Tensor& grad, bool left);

}  // namespace opwright::opapi
