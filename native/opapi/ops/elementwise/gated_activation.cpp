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

// Called first in a body, before it asks for memory (dry_run.h): half precision is widened, and what is checked later
// phase 1 does not see.
void require_half(const at::Tensor& out, const char* name, const at::Tensor& x, int64_t dim) {
  const int64_t size = x.size(dim);
  require(size % 2 == 0, ACLNN_ERR_PARAM_INVALID, "dimension ", dim, " has ", size,
          " elements; it is split into halves and must be even");
  at::DimVector sizes(x.sizes());
  sizes[at::maybe_wrap_dim(dim, x.dim())] = size / 2;
  require_sizes(out, name, sizes);
}

void swiglu(at::Tensor& out, const at::Tensor& x, int64_t dim) {
  require_half(out, "out", x, dim);
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
  require_half(out, "out", self, dim);
  require_half(out_gelu, "outGelu", self, dim);
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
  require_half(out, "out", input, -1);
  const auto [gate, factor] = halves(widened(input), -1);
  assign(out, at::gelu(gate, approximate.empty() ? "none" : approximate).mul_(factor));
}

struct Clipping {
  double alpha, limit, bias;
};

enum class ClampMode : int64_t { kBeforeSilu = 0, kAfterSilu = 1 };

// The dims before `dim` are rows; those from it on are split in neighbours or halves that belong together.
struct ClippedRows {
  int64_t rows;
  bool interleaved;

  ClippedRows(const at::Tensor& x, int64_t dim, const Clipping& clip, bool interleaved) : interleaved(interleaved) {
    require(clip.limit > 0, ACLNN_ERR_PARAM_INVALID, "limit is ", clip.limit, "; allowed: more than 0");
    const int64_t wrapped = at::maybe_wrap_dim(dim, x.dim());
    require(x.size(wrapped) % 2 == 0, ACLNN_ERR_PARAM_INVALID, "dimension ", dim, " of x has ", x.size(wrapped),
            " elements; it is split in two and must be even");
    rows = c10::multiply_integers(x.sizes().slice(0, wrapped));
  }

  Halves split(const at::Tensor& wide) const {
    const int64_t size = wide.size(1);
    return interleaved ? Halves{wide.slice(1, 0, size, 2), wide.slice(1, 1, size, 2)} : halves(wide, 1);
  }
};

// The rows that the groups have together.
int64_t rows_in_groups(const OptionalTensor& groups, int64_t rows) {
  const int64_t used = groups && groups->numel() > 0 ? groups->sum().item<int64_t>() : rows;
  require(used >= 0 && used <= rows, ACLNN_ERR_PARAM_INVALID, "groupIndexOptional sums to ", used, "; x has ", rows,
          " rows");
  return used;
}

// The same where groups may name more rows than there are.
int64_t rows_covered(const OptionalTensor& groups, int64_t rows) {
  return groups ? std::clamp<int64_t>(groups->sum().item<int64_t>(), 0, rows) : rows;
}

void clear_behind(const at::Tensor& rows, int64_t used) { rows.narrow(0, used, rows.size(0) - used).zero_(); }

// Rows behind the groups are 0.
void clipped_swiglu(at::Tensor& out, const at::Tensor& x, const OptionalTensor& groups, int64_t dim, Clipping clip,
                    bool interleaved, int64_t mode = 0) {
  require(mode == 0 || mode == 1, ACLNN_ERR_PARAM_INVALID, "clampMode is ", mode, "; allowed: 0, 1");
  const ClippedRows layout(x, dim, clip, interleaved);
  require_half(out, "out", x, dim);
  if (out.numel() == 0) return;
  const int64_t used = rows_in_groups(groups, layout.rows);
  const auto [first, second] = layout.split(widened(x).reshape({layout.rows, -1}));
  at::Tensor result = second.clamp(-clip.limit, clip.limit);
  if (static_cast<ClampMode>(mode) == ClampMode::kAfterSilu) {
    result.mul_(at::silu(first).clamp_max_(clip.limit));
  } else {
    const at::Tensor gate = first.clamp_max(clip.limit);
    result.add_(clip.bias).mul_(gate.mul(clip.alpha).sigmoid_().mul_(gate));
  }
  clear_behind(result, used);
  assign(out, result.reshape(out.sizes()));
}

// The gradient of what was clipped is 0.
void clipped_swiglu_grad(at::Tensor& out, const at::Tensor& grad, const at::Tensor& x, const OptionalTensor& groups,
                         int64_t dim, Clipping clip, bool interleaved) {
  const ClippedRows layout(x, dim, clip, interleaved);
  if (out.numel() == 0) return;
  const int64_t used = rows_covered(groups, layout.rows);
  const at::Tensor wide = widened(x).reshape({layout.rows, -1}), g = widened(grad).reshape({layout.rows, -1});
  const auto [first, second] = layout.split(wide);
  const at::Tensor gate = first.clamp_max(clip.limit), sigmoid = gate.mul(clip.alpha).sigmoid_();
  const at::Tensor factor = second.clamp(-clip.limit, clip.limit).add_(clip.bias);
  const at::Tensor result = at::empty_like(wide);
  const auto [by_first, by_second] = layout.split(result);
  by_first.copy_(g * factor * sigmoid * (1 + clip.alpha * gate * (1 - sigmoid)) * first.le(clip.limit));
  by_second.copy_(g * gate * sigmoid * second.ge(-clip.limit).logical_and_(second.le(clip.limit)));
  clear_behind(result, used);
  assign(out, result.reshape(out.sizes()));
}

// 0 and less stand for "not clamped".
Halves clamped_halves(const at::Tensor& x, double limit) {
  const auto [gate, factor] = halves(x, -1);
  if (limit <= 0) return {gate, factor};
  return {gate.clamp_max(limit), factor.clamp(-limit, limit)};
}

// A tensor whose dims but the last are one.
at::Tensor in_rows(const at::Tensor& tensor) { return tensor.reshape({-1, tensor.size(-1)}); }

// SwiGLU with a weight for each row; rows behind the groups are 0.
void swiglu_group(at::Tensor& out, const at::Tensor& x, const OptionalTensor& weight, const OptionalTensor& groups,
                  double limit) {
  require_half(out, "out", x, -1);
  if (out.numel() == 0) return;
  const at::Tensor rows = in_rows(widened(x));
  const auto [gate, factor] = clamped_halves(rows, limit);
  at::Tensor result = at::silu(gate).mul_(factor);
  if (weight) result.mul_(weight->reshape({-1, 1}));
  clear_behind(result, rows_covered(groups, rows.size(0)));
  assign(out, result.reshape(out.sizes()));
}

void swiglu_group_grad(at::Tensor& out, at::Tensor& grad_weight, const at::Tensor& grad, const at::Tensor& x,
                       const OptionalTensor& weight, const OptionalTensor& forward, const OptionalTensor& groups,
                       double limit) {
  require(weight.has_value() == forward.has_value(), ACLNN_ERR_PARAM_INVALID,
          "weightOptional and yOriginOptional must be given together");
  require(limit >= 0, ACLNN_ERR_PARAM_INVALID, "clampLimit is ", limit, "; allowed: 0 and more");
  if (out.numel() == 0) return;
  const at::Tensor rows = in_rows(widened(x)), g = in_rows(widened(grad));
  const at::Tensor weighted = weight ? g * weight->reshape({-1, 1}) : g;
  const auto [first, second] = halves(rows, -1);
  const auto [gate, factor] = clamped_halves(rows, limit);
  const at::Tensor result = at::empty_like(rows);
  const auto [by_gate, by_factor] = halves(result, -1);
  by_gate.copy_(at::silu_backward(weighted * factor, gate));
  by_factor.copy_(weighted * at::silu(gate));
  if (limit > 0) {
    by_gate.mul_(first.lt(limit));
    by_factor.mul_(second.gt(-limit).logical_and_(second.lt(limit)));
  }
  clear_behind(result, rows_covered(groups, rows.size(0)));
  assign(out, result.reshape(out.sizes()));
  if (weight && grad_weight.defined()) {
    assign(grad_weight, (g * in_rows(widened(*forward))).sum(-1).reshape(grad_weight.sizes()));
  }
}

struct Situ {
  double beta, linear_beta;
  bool left;
};

at::Tensor squashed(const at::Tensor& values, double bound) { return values.div(bound).tanh_().mul_(bound); }

// beta tanh(gate / beta) sigmoid(gate) times the other half, which a linear_beta above 0 bounds as well.
void situ_glu(at::Tensor& out, const at::Tensor& x, int64_t dim, const Situ& situ) {
  require(situ.beta != 0, ACLNN_ERR_PARAM_INVALID, "beta is 0; it divides the gate");
  require_half(out, "out", x, dim);
  const auto [first, second] = halves(widened(x), dim);
  const at::Tensor &gate = situ.left ? first : second, &up = situ.left ? second : first;
  at::Tensor result = squashed(gate, situ.beta).mul_(gate.sigmoid());
  assign(out, result.mul_(situ.linear_beta > 0 ? squashed(up, situ.linear_beta) : up));
}

void situ_glu_grad(at::Tensor& out, const at::Tensor& grad, const at::Tensor& x, int64_t dim, const Situ& situ) {
  require(situ.beta != 0, ACLNN_ERR_PARAM_INVALID, "beta is 0; it divides the gate");
  const at::Tensor wide = widened(x), g = widened(grad);
  const auto [first, second] = halves(wide, dim);
  const at::Tensor &gate = situ.left ? first : second, &up = situ.left ? second : first;
  const bool bounded = situ.linear_beta > 0;
  const at::Tensor t = gate.div(situ.beta).tanh_(), sigmoid = gate.sigmoid();
  const at::Tensor result = at::empty_like(wide);
  const auto [by_first, by_second] = halves(result, dim);
  const at::Tensor slope = (1 - t * t) + situ.beta * t * (1 - sigmoid);
  (situ.left ? by_first : by_second).copy_(g * (bounded ? squashed(up, situ.linear_beta) : up) * sigmoid * slope);
  at::Tensor by_up = g * t * sigmoid * situ.beta;
  if (bounded) by_up = by_up * (1 - up.div(situ.linear_beta).tanh_().square_());
  (situ.left ? by_second : by_first).copy_(by_up);
  assign(out, result);
}

double beta_of(const std::optional<at::Scalar>& beta) { return beta ? beta->toDouble() : 1; }

void swish(at::Tensor& out, const at::Tensor& self, double beta) {
  const at::Tensor x = widened(self);
  assign(out, x.mul(beta).sigmoid_().mul_(x));
}

void swish_backward(at::Tensor& out, const at::Tensor& grad, const at::Tensor& self, double beta) {
  const at::Tensor x = widened(self), sigmoid = x.mul(beta).sigmoid_();
  assign(out, widened(grad) * sigmoid * (1 + beta * x * (1 - sigmoid)));
}

void squared_relu(at::Tensor& out, const at::Tensor& input) { assign(out, widened(input).clamp_min(0).square_()); }

// The first half, zero where it is below the threshold, times the second one.
void fatrelu_mul(at::Tensor& out, const at::Tensor& input, const at::Tensor& threshold) {
  require(threshold.numel() == 1, ACLNN_ERR_PARAM_INVALID, "threshold has ", threshold.numel(),
          " elements; allowed: 1");
  require_half(out, "out", input, -1);
  const auto [gate, factor] = halves(widened(input), -1);
  assign(out, gate.masked_fill(gate.lt(widened(threshold).reshape({})), 0).mul_(factor));
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
ACLNN(GeGlu, (In, self)(Int, dim)(Int, approximate)(Out, out)(Out, outGelu),
      geglu(out, outGelu, self, dim, approximate, /*left=*/false))
ACLNN(GeGluBackward, (In, gradOutput)(In, self)(In, gelu)(Int, dim)(Int, approximate)(Out, gradInput),
      geglu_grad(gradInput, gradOutput, self, gelu, dim, approximate, /*left=*/false))
ACLNN(ClippedSwigluV2,
      (In, x)(OptIn, groupIndexOptional)(Int, dim)(Double, alpha)(Double, limit)(Double, bias)(Bool, interleaved)(
          Int, clampMode)(Out, out),
      clipped_swiglu(out, x, groupIndexOptional, dim, {alpha, limit, bias}, interleaved, clampMode))
ACLNN(ClippedSwigluGrad,
      (In, gradY)(In, x)(OptIn, groupIndexOptional)(Int, dim)(Double, alpha)(Double, limit)(Double, bias)(
          Bool, interleaved)(Out, gradXOut),
      clipped_swiglu_grad(gradXOut, gradY, x, groupIndexOptional, dim, {alpha, limit, bias}, interleaved))
ACLNN(SwigluGroup, (In, x)(OptIn, weightOptional)(OptIn, groupIndexOptional)(Double, clampLimit)(Out, out),
      swiglu_group(out, x, weightOptional, groupIndexOptional, clampLimit))
ACLNN(SwigluGroupGrad,
      (In, gradY)(In, x)(OptIn, weightOptional)(OptIn, yOriginOptional)(OptIn, groupIndexOptional)(Float, clampLimit)(
          Out, gradXOut)(OptOut, gradWeightOutOptional),
      swiglu_group_grad(gradXOut, gradWeightOutOptional, gradY, x, weightOptional, yOriginOptional, groupIndexOptional,
                        clampLimit))
ACLNN(SituGlu, (In, x)(Int, dim)(Double, beta)(Double, linearBeta)(Bool, activateLeft)(Out, out),
      situ_glu(out, x, dim, {beta, linearBeta, activateLeft}))
ACLNN(SituGluGrad, (In, gradY)(In, x)(Int, dim)(Double, beta)(Double, linearBeta)(Bool, activateLeft)(Out, out),
      situ_glu_grad(out, gradY, x, dim, {beta, linearBeta, activateLeft}))
ACLNN(Swish, (In, self)(OptScalar, betaOptional)(Out, out), swish(out, self, beta_of(betaOptional)))
ACLNN(SwishBackward, (In, gradOutput)(In, self)(OptScalar, betaOptional)(Out, gradInput),
      swish_backward(gradInput, gradOutput, self, beta_of(betaOptional)))
ACLNN(SquaredRelu, (In, input)(Out, out), squared_relu(out, input))
ACLNN(FatreluMul, (In, input)(In, threshold)(Out, out), fatrelu_mul(out, input, threshold))
