// native/opapi/ops/elementwise/activation.cpp
// Activation functions and their gradients. `out` forms of ATen write straight into device memory; for functions that
// have none, ATen's kernel is called with an iterator over the output.
#include <ATen/ExpandUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/Activation.h>
#include <ATen/ops/heaviside.h>

#include "opapi/ops/common/activations.h"

#define ACTIVATION(NAME, FUNCTION) ACLNN(NAME, (In, self)(Out, out), at::FUNCTION##_out(out, self))
#define INPLACE_ACTIVATION(NAME, REF, FUNCTION) ACLNN(NAME, (Ref, REF), at::FUNCTION##_(REF))
#define ACTIVATION_BACKWARD(NAME, FUNCTION, OPERAND, GRADIENT) \
  ACLNN(NAME, (In, gradOutput)(In, OPERAND)(Out, GRADIENT), at::FUNCTION##_out(GRADIENT, gradOutput, OPERAND))

namespace {

// ATen's relu has no kernel that writes into a given tensor; it is a lower bound of 0.
void relu(const at::Tensor& self, at::Tensor& out) {
  TORCH_CHECK(self.scalar_type() != at::kBool, "Boolean inputs not supported for relu");
  at::clamp_min_out(out, self, 0);
}

// int32, which ATen refuses, is computed in float32 and truncated.
void hardsigmoid(const at::Tensor& self, at::Tensor& out) {
  if (self.scalar_type() == at::kInt) {
    assign(out, at::hardsigmoid(self.to(at::kFloat)));
  } else {
    at::hardsigmoid_out(out, self);
  }
}

// celu(x) = elu(x) with the negative input divided by alpha, which is how ATen computes it.
at::Scalar celu_input_scale(const at::Scalar& alpha) {
  require(alpha.toDouble() != 0, ACLNN_ERR_PARAM_INVALID, "alpha cannot be 0 for celu");
  return 1.0 / alpha.toDouble();
}

// The slopes, one or one per channel (dimension 1), in a shape that broadcasts to `self`.
at::Tensor slopes_for(const at::Tensor& self, const at::Tensor& weight) {
  if (weight.dim() != 1 || weight.dim() == self.dim()) return weight;
  at::DimVector shape(self.dim(), 1);
  if (self.dim() > 1) shape[1] = weight.numel();
  return weight.view(shape);
}

void prelu(const at::Tensor& self, const at::Tensor& weight, at::Tensor& out) {
  const at::Tensor slopes = slopes_for(self, weight);
  into(out, self.scalar_type(), [&](at::Tensor& target) {
    at::TensorIterator elements =
        at::TensorIteratorConfig().add_output(target).add_const_input(self).add_const_input(slopes).build();
    at::native::prelu_stub(at::kCPU, elements);
  });
}

void prelu_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight, at::Tensor& grad_input,
                    at::Tensor& grad_weight) {
  const at::Tensor slopes = slopes_for(self, weight);
  at::Tensor by_element = at::empty({0}, weight.options());
  into(grad_input, self.scalar_type(), [&](at::Tensor& target) {
    at::TensorIterator elements = at::TensorIteratorConfig()
                                      .add_output(target)
                                      .add_output(by_element)
                                      .add_const_input(self)
                                      .add_const_input(slopes)
                                      .add_const_input(grad)
                                      .build();
    at::native::prelu_backward_stub(at::kCPU, elements);
  });
  assign(grad_weight, at::sum_to(by_element, slopes.sizes()).view(weight.sizes()));
}

// log sigmoid(x) = -softplus(-x): one pass, and unlike ATen's own kernels it needs no buffer between forward and
// backward (callers pass an empty one). Beyond the bound both are exact in double precision.
const at::Scalar kMirrored = -1.0;
const at::Scalar kBound = 40.0;

void log_sigmoid(const at::Tensor& self, at::Tensor& out) { at::softplus_out(out, self, kMirrored, kBound); }

void hardswish_backward(const at::Tensor& grad, const at::Tensor& self, at::Tensor& out) {
  at::TensorIterator elements = at::TensorIterator::binary_op(out, grad, self);
  at::native::hardswish_backward_stub(at::kCPU, elements);
}

// Where the parts meet, at -3 and 3, the gradient is that of the middle one. `out` may be an operand.
void hardswish_backward_with_middle_slope(const at::Tensor& grad, const at::Tensor& self, at::Tensor& out) {
  const at::Tensor meets = self.abs() == 3;
  const at::Tensor middle = grad * (self / 3 + 0.5);
  hardswish_backward(grad, self, out);
  out.copy_(at::where(meets, middle, out));
}

void mish_backward(const at::Tensor& grad, const at::Tensor& self, at::Tensor& out) {
  at::TensorIterator elements = at::TensorIterator::binary_op(out, grad, self);
  at::native::mish_backward_stub(at::kCPU, elements);
}

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

// The dtypes of both may differ; ATen's kernel would take one for the other.
void gelu_backward(const at::Tensor& grad, const at::Tensor& self, at::Tensor& out) {
  const at::ScalarType dtype = at::result_type(grad, self);
  into(out, dtype, [&](at::Tensor& target) { at::gelu_backward_out(target, grad.to(dtype), self.to(dtype), "none"); });
}

void heaviside(const at::Tensor& input, const at::Tensor& values, at::Tensor& out) {
  at::heaviside_out(out, input, values);
}

// Beyond the threshold the values are moved towards zero by the bias, within it they are zero.
void shrink(const at::Tensor& self, const at::Scalar& lambd, const at::Scalar& bias, at::Tensor& out) {
  const at::Tensor low = at::lt(self, -lambd.toDouble()), high = at::gt(self, lambd);
  assign(out, at::where(low, self + bias, at::where(high, self - bias, at::zeros_like(self))));
}

// ATen asks for memory before it looks at the gradient.
void glu_backward(const at::Tensor& grad, const at::Tensor& self, int64_t dim, at::Tensor& out) {
  at::DimVector sizes(self.sizes());
  const int64_t size = self.size(dim);
  sizes[at::maybe_wrap_dim(dim, self.dim())] = size / 2;
  require(size % 2 == 0 && grad.sizes() == sizes, ACLNN_ERR_PARAM_INVALID, "parameter 'gradOut' has shape ",
          grad.sizes(), "; it must have half of dimension ", dim, " of self, which has shape ", self.sizes());
  require_sizes(out, "out", self.sizes());
  at::glu_backward_out(out, grad, self, dim);
}

}  // namespace

ACLNN(Relu, (In, self)(Out, out), relu(self, out))
INPLACE_ACTIVATION(InplaceRelu, selfRef, relu)
ACLNN(Threshold, (In, self)(Scalar, threshold)(Scalar, value)(Out, out), at::threshold_out(out, self, threshold, value))
ACLNN(InplaceThreshold, (Ref, selfRef)(Scalar, threshold)(Scalar, value), at::threshold_(selfRef, threshold, value))
ACLNN(ThresholdBackward, (In, gradOutput)(In, self)(Scalar, threshold)(Out, out),
      at::threshold_backward_out(out, gradOutput, self, threshold))
ACLNN(LeakyRelu, (In, self)(Scalar, negativeSlope)(Out, out), at::leaky_relu_out(out, self, negativeSlope))
ACLNN(InplaceLeakyRelu, (Ref, selfRef)(Scalar, negativeSlope), at::leaky_relu_(selfRef, negativeSlope))
ACLNN(LeakyReluBackward, (In, gradOutput)(In, self)(Scalar, negativeSlope)(Bool, selfIsResult)(Out, out),
      at::leaky_relu_backward_out(out, gradOutput, self, negativeSlope, selfIsResult))
ACLNN(Prelu, (In, self)(In, weight)(Out, out), prelu(self, weight, out))
ACLNN(PreluBackward, (In, gradOutput)(In, self)(In, weight)(Out, gradInput)(Out, gradWeight),
      prelu_backward(gradOutput, self, weight, gradInput, gradWeight))
ACLNN(RReluWithNoise,
      (In, self)(Ref, noise)(Scalar, lower)(Scalar, upper)(Bool, training)(Int, seed)(Int, offset)(Out, out),
      at::rrelu_with_noise_out(out, self, noise, lower, upper, training, generator(seed, offset)))
ACLNN(InplaceRReluWithNoise,
      (Ref, self)(Ref, noise)(Scalar, lower)(Scalar, upper)(Bool, training)(Int, seed)(Int, offset),
      at::rrelu_with_noise_(self, noise, lower, upper, training, generator(seed, offset)))

ACLNN(Elu, (In, self)(Scalar, alpha)(Scalar, scale)(Scalar, inputScale)(Out, out),
      at::elu_out(out, self, alpha, scale, inputScale))
ACLNN(InplaceElu, (Ref, selfRef)(Scalar, alpha)(Scalar, scale)(Scalar, inputScale),
      at::elu_(selfRef, alpha, scale, inputScale))
ACLNN(EluBackward,
      (In, gradOutput)(Scalar, alpha)(Scalar, scale)(Scalar, inputScale)(Bool, isResult)(In, selfOrResult)(Out,
                                                                                                           gradInput),
      at::elu_backward_out(gradInput, gradOutput, alpha, scale, inputScale, isResult, selfOrResult))
ACLNN(Celu, (In, self)(Scalar, alpha)(Out, out), at::elu_out(out, self, alpha, 1.0, celu_input_scale(alpha)))
ACLNN(InplaceCelu, (Ref, selfRef)(Scalar, alpha), at::elu_(selfRef, alpha, 1.0, celu_input_scale(alpha)))
ACLNN(Selu, (In, self)(Out, out), at::elu_out(out, self, kSeluAlpha, kSeluScale, 1.0))
ACLNN(InplaceSelu, (Ref, selfRef), at::elu_(selfRef, kSeluAlpha, kSeluScale, 1.0))
ACLNN(SeluBackward, (In, gradOutput)(In, result)(Out, gradInput),
      at::elu_backward_out(gradInput, gradOutput, kSeluAlpha, kSeluScale, 1.0, /*is_result=*/true, result))
ACLNN(Heaviside, (In, input)(In, values)(Out, out), heaviside(input, values, out))
ACLNN(Shrink, (In, self)(Scalar, lambd)(Scalar, bias)(Out, out), shrink(self, lambd, bias, out))

ACLNN(Gelu, (In, self)(Out, out), at::gelu_out(out, self, "none"))
ACLNN(GeluV2, (In, x)(Int, approximate)(Out, y), at::gelu_out(y, x, gelu_form(approximate)))
ACLNN(GeluBackward, (In, gradOutput)(In, self)(Out, gradInput), gelu_backward(gradOutput, self, gradInput))
ACLNN(GeluBackwardV2, (In, gradOutput)(In, self)(Text, approximate)(Out, gradInput),
      at::gelu_backward_out(gradInput, gradOutput, self, approximate))
ACTIVATION(Silu, silu)
ACTIVATION_BACKWARD(SiluBackward, silu_backward, self, gradInput)
ACTIVATION(Mish, mish)
INPLACE_ACTIVATION(InplaceMish, selfRef, mish)
ACLNN(MishBackward, (In, gradOutput)(In, self)(Out, gradInput), mish_backward(gradOutput, self, gradInput))
ACTIVATION_BACKWARD(SigmoidBackward, sigmoid_backward, output, gradInput)
ACTIVATION_BACKWARD(TanhBackward, tanh_backward, output, gradInput)
ACLNN(Glu, (In, self)(Int, dim)(Out, out), at::glu_out(out, self, dim))
ACLNN(GluBackward, (In, gradOut)(In, self)(Int, dim)(Out, out), glu_backward(gradOut, self, dim, out))

ACLNN(Hardshrink, (In, self)(Scalar, lambd)(Out, out), at::hardshrink_out(out, self, lambd))
ACLNN(HardshrinkBackward, (In, gradOutput)(In, self)(Scalar, lambd)(Out, gradInput),
      at::hardshrink_backward_out(gradInput, gradOutput, self, lambd))
ACLNN(Hardsigmoid, (In, self)(Out, out), hardsigmoid(self, out))
ACLNN(InplaceHardsigmoid, (Ref, self), hardsigmoid(self, self))
ACTIVATION_BACKWARD(HardsigmoidBackward, hardsigmoid_backward, self, out)
ACTIVATION(Hardswish, hardswish)
INPLACE_ACTIVATION(InplaceHardswish, self, hardswish)
ACLNN(HardswishBackward, (In, gradOutput)(In, self)(Out, out),
      hardswish_backward_with_middle_slope(gradOutput, self, out))
ACLNN(HardswishBackwardV2, (In, gradOutput)(In, self)(Out, out), hardswish_backward(gradOutput, self, out))
ACLNN(Hardtanh, (In, self)(Scalar, clipValueMin)(Scalar, clipValueMax)(Out, out),
      at::hardtanh_out(out, self, clipValueMin, clipValueMax))
ACLNN(InplaceHardtanh, (Ref, selfRef)(Scalar, clipValueMin)(Scalar, clipValueMax),
      at::hardtanh_(selfRef, clipValueMin, clipValueMax))
ACLNN(HardtanhBackward, (In, gradOutput)(In, self)(Scalar, min)(Scalar, max)(Out, out),
      at::hardtanh_backward_out(out, gradOutput, self, min, max))
ACLNN(Softplus, (In, self)(Scalar, beta)(Scalar, threshold)(Out, out), at::softplus_out(out, self, beta, threshold))
ACLNN(SoftplusBackward, (In, gradOutput)(In, self)(Scalar, beta)(Scalar, threshold)(Out, gradInput),
      at::softplus_backward_out(gradInput, gradOutput, self, beta, threshold))
ACLNN(Softshrink, (In, self)(Scalar, lambd)(Out, out), at::softshrink_out(out, self, lambd))
ACLNN(SoftshrinkBackward, (In, gradOutput)(In, self)(Scalar, lambda)(Out, gradInput),
      at::softshrink_backward_out(gradInput, gradOutput, self, lambda))

// torch_npu asks whether the first exists and runs the second.
ACLNN(LogSigmoid, (In, self)(Out, out), log_sigmoid(self, out))
ACLNN(LogSigmoidForward, (In, self)(Out, out)(OptOut, buffer), log_sigmoid(self, out))
ACLNN(LogSigmoidBackward, (In, gradOutput)(In, self)(OptIn, buffer)(Out, gradInput),
      at::softplus_backward_out(gradInput, gradOutput, self, kMirrored, kBound))

#undef ACTIVATION
#undef INPLACE_ACTIVATION
#undef ACTIVATION_BACKWARD
