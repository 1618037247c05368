// native/opapi/ops/quantization/swiglu.cpp
#include "opapi/ops/quantization/swiglu.h"

namespace opwright::opapi {

namespace {

struct Parts {
  at::Tensor gate, factor;
};

Parts split(const at::Tensor& x, int64_t dim, bool interleaved, bool left) {
  const int64_t size = x.size(dim);
  require(size % 2 == 0, ACLNN_ERR_PARAM_INVALID, "dimension ", dim, " of x has ", size,
          " elements; it is split in two and must be even");
  const at::Tensor wide = x.to(at::kFloat);
  if (interleaved) return {wide.slice(dim, 0, size, 2), wide.slice(dim, 1, size, 2)};
  const at::Tensor first = wide.narrow(dim, 0, size / 2), second = wide.narrow(dim, size / 2, size / 2);
  return left ? Parts{first, second} : Parts{second, first};
}

}  // namespace

Gating gating_of(int64_t mode, int64_t dim, bool left, double limit, double alpha, double bias) {
  require(mode >= 0 && mode <= 3, ACLNN_ERR_PARAM_INVALID, "swigluMode is ", mode, "; allowed: 0, 1, 2, 3");
  const auto known = static_cast<SwigluMode>(mode);
  return {known, dim, left, known == SwigluMode::kPlain ? 0 : limit, alpha, bias};
}

at::Tensor gated(const at::Tensor& x, const Gating& gating) {
  const bool interleaved = gating.mode == SwigluMode::kInterleaved;
  require(!interleaved || gating.left, ACLNN_ERR_PARAM_INVALID, "activateLeft is false; swigluMode 1 needs true");
  auto [gate, factor] = split(x, gating.dim, interleaved, gating.left);
  const bool clamped = gating.limit > 0;
  if (gating.mode == SwigluMode::kPlain || gating.mode == SwigluMode::kClampedResult) {
    const bool result = gating.mode == SwigluMode::kClampedResult;
    if (clamped && !result) gate = gate.clamp_max(gating.limit);
    if (clamped) factor = factor.clamp(-gating.limit, gating.limit);
    at::Tensor activated = at::silu(gate);
    if (clamped && result) activated.clamp_max_(gating.limit);
    return activated.mul_(factor);
  }
  if (clamped) {
    gate = gate.clamp_max(gating.limit);
    factor = factor.clamp(-gating.limit, gating.limit);
  }
  return (gate * gating.alpha).sigmoid_().mul_(gate).mul_(factor + gating.bias);
}

at::Tensor gated_gradient(const at::Tensor& x, const at::Tensor& grad, bool left) {
  const auto [gate, factor] = split(x, -1, false, left);
  const at::Tensor wide = grad.to(at::kFloat);
  const at::Tensor of_gate = at::silu_backward(wide * factor, gate), of_factor = wide * at::silu(gate);
  return left ? at::cat({of_gate, of_factor}, -1) : at::cat({of_factor, of_gate}, -1);
}

}  // namespace opwright::opapi
