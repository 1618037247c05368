// native/opapi/ops/elementwise/gated_activation.cpp
// Activations of torch_npu: products of one half of a tensor with the activation of the other half, and FastGelu.
// Half precision is computed in float32 and rounded once.
#include "opapi/ops/common/activations.h"
#include "opapi/ops/common/precision.h"

namespace {

struct Halves {
  at::Tensor first, second;
};

Halves halves(const at::Tensor& tensor, int64_t dim) {
  const int64_t size = tensor.size(dim);
  require(size % 2 == 0, ACLNN_ERR_PARAM_INVALID, "dimension ", dim, " has ", size,
          " elements; it is split into halves and must be even");
  return {tensor.narrow(dim, 0, size / 2), tensor.narrow(dim, size / 2, size / 2)};
}

void swiglu(at::Tensor& out, const at::Tensor& x, int64_t dim) {
  const auto [gate, factor] = halves(widened(x), dim);
  into(out, gate.scalar_type(), [&](at::Tensor& target) {
    at::silu_out(target, gate);
    target.mul_(factor);
  });
}

void swiglu_grad(at::Tensor& out, const at::Tensor& grad, const at::Tensor& x, int64_t dim) {
  const at::Tensor g = widened(grad);
  const auto [gate, factor] = halves(widened(x), dim);
  into(out, gate.scalar_type(), [&](at::Tensor& target) {
    auto [grad_gate, grad_factor] = halves(target, dim);
    at::silu_backward_out(grad_gate, g * factor, gate);
    at::mul_out(grad_factor, g, at::silu(gate));
  });
}

// `left` names the half that goes through GELU; the result of GELU is kept for the backward pass.
void geglu(at::Tensor& out, at::Tensor& out_gelu, const at::Tensor& self, int64_t dim, int64_t approximate, bool left) {
  const auto [first, second] = halves(widened(self), dim);
  at::Tensor gelu =
      out_gelu.scalar_type() == first.scalar_type() ? out_gelu : at::empty(first.sizes(), first.options());
  at::gelu_out(gelu, left ? first : second, gelu_form(approximate));
  begin_with(out_gelu, gelu);
  into(out, gelu.scalar_type(), [&](at::Tensor& target) { at::mul_out(target, gelu, left ? second : first); });
}

void geglu_grad(at::Tensor& out, const at::Tensor& grad, const at::Tensor& self, const at::Tensor& gelu, int64_t dim,
                int64_t approximate, bool left) {
  const at::Tensor g = widened(grad);
  const auto [first, second] = halves(widened(self), dim);
  into(out, first.scalar_type(), [&](at::Tensor& target) {
    auto [grad_first, grad_second] = halves(target, dim);
    at::gelu_backward_out(left ? grad_first : grad_second, g * (left ? second : first), left ? first : second,
                          gelu_form(approximate));
    at::mul_out(left ? grad_second : grad_first, g, widened(gelu));
  });
}

void gelu_mul(at::Tensor& out, const at::Tensor& input, const std::string& approximate) {
  const auto [gate, factor] = halves(widened(input), -1);
  assign(out, at::gelu(gate, approximate.empty() ? "none" : approximate).mul_(factor));
}

struct Clipping {
  double alpha, limit, bias;
};

// Along `dim` and what follows it, neighbours or halves belong together; rows behind the groups are 0.
void clipped_swiglu(at::Tensor& out, const at::Tensor& x, const OptionalTensor& groups, int64_t dim, Clipping clip,
                    bool interleaved) {
  require(clip.limit > 0, ACLNN_ERR_PARAM_INVALID, "limit is ", clip.limit, "; allowed: more than 0");
  const int64_t wrapped = at::maybe_wrap_dim(dim, x.dim());
  require(x.size(wrapped) % 2 == 0, ACLNN_ERR_PARAM_INVALID, "dimension ", dim, " of x has ", x.size(wrapped),
          " elements; it is split in two and must be even");
  if (out.numel() == 0) return;
  const int64_t rows = c10::multiply_integers(x.sizes().slice(0, wrapped));
  const int64_t used = groups && groups->numel() > 0 ? groups->sum().item<int64_t>() : rows;
  require(used >= 0 && used <= rows, ACLNN_ERR_PARAM_INVALID, "groupIndexOptional sums to ", used, "; x has ", rows,
          " rows");
  const at::Tensor wide = widened(x).reshape({rows, -1});
  const int64_t size = wide.size(1);
  const at::Tensor gate = (interleaved ? wide.slice(1, 0, size, 2) : wide.narrow(1, 0, size / 2)).clamp_max(clip.limit);
  at::Tensor factor = (interleaved ? wide.slice(1, 1, size, 2) : wide.narrow(1, size / 2, size / 2))
                          .clamp(-clip.limit, clip.limit)
                          .add_(clip.bias);
  factor.mul_(gate.mul(clip.alpha).sigmoid_().mul_(gate)).narrow(0, used, rows - used).zero_();
  assign(out, factor.reshape(out.sizes()));
}

void fast_gelu_backward(at::Tensor& out, const at::Tensor& grad, const at::Tensor& self) {
  const at::Tensor x = widened(self);
  const at::Tensor sigmoid = x.mul(kFastGelu).sigmoid_();
  assign(out, widened(grad) * sigmoid * (1 + kFastGelu * x * (1 - sigmoid)));
}

}  // namespace

ACLNN(SwiGlu, (In, x)(Int, dim)(Out, out), swiglu(out, x, dim))
ACLNN(SwiGluGrad, (In, yGrad)(In, x)(Int, dim)(Out, out), swiglu_grad(out, yGrad, x, dim))
ACLNN(GeGluV3, (In, self)(Int, dim)(Int, approximate)(Bool, activateLeft)(Out, out)(Out, outGelu),
      geglu(out, outGelu, self, dim, approximate, activateLeft))
ACLNN(GeGluV3Backward,
      (In, gradOutput)(In, self)(In, gelu)(Int, dim)(Int, approximate)(Bool, activateLeft)(Out, gradInput),
      geglu_grad(gradInput, gradOutput, self, gelu, dim, approximate, activateLeft))
ACLNN(GeluMul, (In, input)(Text, approximateOptional)(Out, out), gelu_mul(out, input, approximateOptional))
ACLNN(ClippedSwiglu,
      (In, x)(OptIn, groupIndexOptional)(Int, dim)(Double, alpha)(Double, limit)(Double, bias)(Bool, interleaved)(Out,
                                                                                                                  out),
      clipped_swiglu(out, x, groupIndexOptional, dim, {alpha, limit, bias}, interleaved))
ACLNN(FastGelu, (In, self)(Out, out), assign(out, fast_gelu(widened(self))))
ACLNN(FastGeluBackward, (In, gradOutput)(In, self)(Out, gradInput), fast_gelu_backward(gradInput, gradOutput, self))
