// native/opapi/ops/reduction/softmax.cpp
// Softmax, its logarithm and its masked form. With half inputs and a float32 output the computation is in float32, as
// on the device.
#include "opapi/ops/common/precision.h"

namespace {

void softmax_backward(const at::Tensor& grad, const at::Tensor& output, int64_t dim, at::Tensor& grad_input) {
  const at::ScalarType dtype = grad.scalar_type();
  into(grad_input, dtype,
       [&](at::Tensor& target) { at::_softmax_backward_data_out(target, grad, output.to(dtype), dim, dtype); });
}

void log_softmax_backward(const at::Tensor& grad, const at::Tensor& output, int64_t dim, at::Tensor& grad_input) {
  const at::ScalarType dtype = grad.scalar_type();
  into(grad_input, dtype,
       [&](at::Tensor& target) { at::_log_softmax_backward_data_out(target, grad, output.to(dtype), dim, dtype); });
}

// The value of a masked element before the softmax: small enough to vanish beside any other, and finite, so that a
// row without an unmasked element stays finite too.
constexpr double kMasked = -10000.0;

void scaled_masked_softmax(const at::Tensor& x, const at::Tensor& mask, double scale, at::Tensor& y) {
  const at::Tensor scores = at::mul(x.to(at::kFloat), scale).masked_fill_(mask.to(at::kBool), kMasked);
  assign(y, at::_softmax(scores, -1, false));
}

void scaled_masked_softmax_backward(const at::Tensor& grad, const at::Tensor& y, const at::Tensor& mask, double scale,
                                    at::Tensor& out) {
  const at::Tensor by_scores = at::_softmax_backward_data(grad.to(at::kFloat), y.to(at::kFloat), -1, at::kFloat);
  assign(out, by_scores.mul(scale).masked_fill_(mask.to(at::kBool), 0));
}

// Windows of an image: x [B, W, N, S, S], also [B * W, N, S, S]; a mask [W, S, S] for each window, a bias [N, S, S] for
// each head, both added.
void softmax_with_bias(const at::Tensor& x, const OptionalTensor& mask, const at::Tensor& bias, double scale,
                       at::Tensor& out) {
  require(x.dim() == 4 || x.dim() == 5, ACLNN_ERR_PARAM_INVALID, "parameter 'x' has shape ", x.sizes(),
          "; it must be [B, W, N, S, S] or [B * W, N, S, S]");
  if (x.numel() == 0) return;
  const int64_t heads = x.size(-3), rows = x.size(-2), columns = x.size(-1);
  at::Tensor scores = at::mul(x.to(at::kFloat), scale);
  scores.add_(bias.to(at::kFloat).view({heads, rows, columns}));
  if (mask) {
    const at::Tensor windows = mask->to(at::kFloat).reshape({-1, 1, rows, columns});
    require(windows.size(0) > 0 && (x.numel() / (heads * rows * columns)) % windows.size(0) == 0,
            ACLNN_ERR_PARAM_INVALID, "parameter 'attenMask' has shape ", mask->sizes(), "; it must be [W, ", rows, ", ",
            columns, "] for the windows of x, ", x.sizes());
    scores.view({-1, windows.size(0), heads, rows, columns}).add_(windows);
  }
  assign(out, at::_softmax(scores, -1, false));
}

}  // namespace

ACLNN(Softmax, (In, self)(Int, dim)(Out, out), at::_softmax_out(out, self.to(out.scalar_type()), dim, false))
ACLNN(SoftmaxBackward, (In, gradOutput)(In, output)(Int, dim)(Out, out), softmax_backward(gradOutput, output, dim, out))
ACLNN(LogSoftmax, (In, self)(Int, dim)(Out, out), rounded_once(out, [&](at::Tensor& target) {
        at::_log_softmax_out(target, self.to(target.scalar_type()), dim, false);
      }))
ACLNN(LogSoftmaxBackward, (In, gradOutput)(In, output)(Int, dim)(Out, out),
      log_softmax_backward(gradOutput, output, dim, out))
// fixedTriuMask is reserved: the device does not make the mask itself yet.
ACLNN(ScaledMaskedSoftmax, (In, x)(In, mask)(Double, scale)(Bool, fixedTriuMask)(Out, y),
      scaled_masked_softmax(x, mask, scale, y))
ACLNN(ScaledMaskedSoftmaxBackward, (In, gradOutput)(In, y)(In, mask)(Double, scale)(Bool, fixTriuMask)(Out, out),
      scaled_masked_softmax_backward(gradOutput, y, mask, scale, out))
ACLNN(MaskedSoftmaxWithRelPosBias,
      (In, x)(OptIn, attenMaskOptional)(In, relativePosBias)(Double, scaleValue)(Int, innerPrecisionMode)(Out, out),
      softmax_with_bias(x, attenMaskOptional, relativePosBias, scaleValue, out))
