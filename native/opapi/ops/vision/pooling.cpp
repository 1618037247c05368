// native/opapi/ops/vision/pooling.cpp
// Average and maximum pooling, their gradients, and the inverse of maximum pooling.
#include <ATen/native/Pool.h>

#include "opapi/ops/common/precision.h"

namespace {

// MaxPool2dWithMask returns positions in a buffer whose size torch_npu computes: int8, per plane
// kernel_h * kernel_w * 32 * (ceil(outputs / 16) + 1) bytes. The device keeps one bit per kernel element there; here
// the plane begins with the outputs' positions as int32. Only a 1x1 kernel has no room for them; its gradient finds the
// positions again. Callers of the out= form may give an index tensor of the output's shape instead.
at::Tensor positions_in(const at::Tensor& mask, at::IntArrayRef outputs) {
  const int64_t count = outputs[outputs.size() - 1] * outputs[outputs.size() - 2];
  const int64_t planes = c10::multiply_integers(outputs.slice(0, outputs.size() - 2));
  if (planes == 0 || mask.numel() / planes / int64_t{sizeof(int32_t)} < count) return {};
  return mask.view({planes, -1}).slice(1, 0, count * int64_t{sizeof(int32_t)}).view(at::kInt).view(outputs);
}

void max_pool_with_mask(const at::Tensor& self, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
                        at::IntArrayRef dilation, bool ceil_mode, at::Tensor& out, at::Tensor& mask) {
  at::Tensor indices = at::empty({0}, self.options().dtype(at::kLong));
  at::max_pool2d_with_indices_out(out, indices, self, kernel, stride, padding, dilation, ceil_mode);
  if (mask.scalar_type() != at::kChar) return assign(mask, indices);
  at::Tensor positions = positions_in(mask, out.sizes());
  if (positions.defined()) positions.copy_(indices);
}

void max_pool_with_mask_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& mask,
                                 at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
                                 at::IntArrayRef dilation, bool ceil_mode, at::Tensor& grad_input) {
  at::Tensor indices = mask.scalar_type() != at::kChar ? mask : positions_in(mask.contiguous(), grad.sizes());
  if (!indices.defined()) {
    indices = std::get<1>(at::max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil_mode));
  }
  at::max_pool2d_with_indices_backward_out(grad_input, grad, self, kernel, stride, padding, dilation, ceil_mode,
                                           indices.to(at::kLong));
}

// 0 stands for "the size of the window".
std::optional<int64_t> divisor(int64_t given) { return given == 0 ? std::nullopt : std::optional<int64_t>(given); }

// ONNX's maximum pooling: windows over borders of their own on each side, which count as the lowest number.
void max_pool(const at::Tensor& self, at::IntArrayRef kernel, at::IntArrayRef strides, int64_t auto_pad,
              at::IntArrayRef pads, at::IntArrayRef dilations, bool ceil_mode, at::Tensor& out) {
  require(auto_pad == 0, ACLNN_ERR_PARAM_INVALID, "autoPad is ", auto_pad, "; allowed: 0 (pads says it)");
  for (const int64_t dilation : dilations) {
    require(dilation == 1, ACLNN_ERR_PARAM_INVALID, "dilations has ", dilation, "; allowed: 1");
  }
  const std::vector<int64_t> steps = strides.empty() ? std::vector<int64_t>{1} : strides.vec();
  if (pads.size() != 4 || (pads[0] == pads[2] && pads[1] == pads[3])) {
    const std::vector<int64_t> both =
        pads.empty() ? std::vector<int64_t>{0} : pads.slice(0, std::min<size_t>(pads.size(), 2)).vec();
    at::Tensor places = at::empty({0}, self.options().dtype(at::kLong));
    into(out, self.scalar_type(), [&](at::Tensor& target) {
      at::max_pool2d_with_indices_out(target, places, self, kernel, steps, both, 1, ceil_mode);
    });
    return;
  }
  require(self.is_floating_point(), ACLNN_ERR_PARAM_INVALID, "self is ", self.scalar_type(),
          "; uneven pads are available for floating point only");
  const auto along = [](at::IntArrayRef values, size_t axis) { return values[values.size() == 1 ? 0 : axis]; };
  at::DimVector sizes(self.sizes());
  for (size_t axis = 0; axis < 2; ++axis) {
    int64_t& size = sizes[sizes.size() - 2 + axis];
    size = at::native::pooling_output_shape<int64_t>(size + pads[axis] + pads[axis + 2], along(kernel, axis), 0,
                                                     along(steps, axis), 1, ceil_mode);
  }
  require_sizes(out, "out", sizes);
  const at::Tensor padded = at::constant_pad_nd(self, {pads[1], pads[3], pads[0], pads[2]}, -kInfinity);
  assign(out, std::get<0>(at::max_pool2d_with_indices(padded, kernel, steps, 0, 1, ceil_mode)));
}

// The gradient of each value is the one at the place that it was put to. The last `dims` dimensions are one.
void max_unpool_backward(const at::Tensor& grad, const at::Tensor& indices, at::IntArrayRef output_size, int64_t dims,
                         at::Tensor& out) {
  require(static_cast<int64_t>(output_size.size()) == dims, ACLNN_ERR_PARAM_INVALID, "outputSize has ",
          output_size.size(), " numbers; allowed: ", dims);
  require(grad.dim() > dims && grad.sizes().slice(grad.dim() - dims) == output_size, ACLNN_ERR_PARAM_INVALID,
          "gradOutput has the shape ", grad.sizes(), "; it must end with outputSize, ", output_size);
  require(indices.sizes() == out.sizes(), ACLNN_ERR_PARAM_INVALID, "indices has the shape ", indices.sizes(),
          "; allowed: that of out, ", out.sizes());
  const at::Tensor places = indices.flatten(-dims);
  assign(out, grad.flatten(-dims).gather(-1, places).view(out.sizes()));
}

}  // namespace

ACLNN(AdaptiveAvgPool2d, (In, self)(Ints, outputSize)(Out, out), at::adaptive_avg_pool2d_out(out, self, outputSize))
ACLNN(AdaptiveAvgPool2dBackward, (In, gradOutput)(In, self)(Out, out),
      assign(out, at::_adaptive_avg_pool2d_backward(gradOutput, self)))
ACLNN(AdaptiveAvgPool3d, (In, self)(Ints, outputSize)(Out, out),
      assign(out, at::adaptive_avg_pool3d(widened(self), outputSize)))
ACLNN(AdaptiveAvgPool3dBackward, (In, gradOutput)(In, self)(Out, out), rounded_once(out, [&](at::Tensor& target) {
        at::adaptive_avg_pool3d_backward_out(target, widened(gradOutput), widened(self));
      }))
ACLNN(AdaptiveMaxPool2d, (In, self)(Ints, outputSize)(Out, outputOut)(OutIndex, indicesOut),
      at::adaptive_max_pool2d_out(outputOut, indicesOut, self, outputSize))
ACLNN(AdaptiveMaxPool2dBackward, (In, gradOutput)(In, self)(Index, indices)(Out, gradInput),
      at::adaptive_max_pool2d_backward_out(gradInput, gradOutput, self, indices))
ACLNN(AdaptiveMaxPool3d, (In, self)(Ints, outputSize)(Out, outputOut)(OutIndex, indicesOut),
      at::adaptive_max_pool3d_out(outputOut, indicesOut, self, outputSize))
ACLNN(AdaptiveMaxPool3dBackward, (In, gradOutput)(In, self)(Index, indices)(Out, gradInput),
      at::adaptive_max_pool3d_backward_out(gradInput, gradOutput, self, indices))

ACLNN(AvgPool2d,
      (In, self)(Ints, kernelSize)(Ints, strides)(Ints, paddings)(Bool, ceilMode)(Bool, countIncludePad)(
          Int, divisorOverride)(MathType, cubeMathType)(Out, out),
      at::avg_pool2d_out(out, self, kernelSize, strides, paddings, ceilMode, countIncludePad, divisor(divisorOverride)))
ACLNN(AvgPool2dBackward,
      (In, gradOutput)(In, self)(Ints, kernelSize)(Ints, stride)(Ints, padding)(Bool, ceilMode)(Bool, countIncludePad)(
          Int, divisorOverride)(MathType, cubeMathType)(Out, gradInput),
      rounded_once(gradInput, [&](at::Tensor& target) {
        at::avg_pool2d_backward_out(target, widened(gradOutput), widened(self), kernelSize, stride, padding, ceilMode,
                                    countIncludePad, divisor(divisorOverride));
      }))
ACLNN(AvgPool3d,
      (In, self)(Ints, kernelSize)(Ints, stride)(Ints, padding)(Bool, ceilMode)(Bool, countIncludePad)(
          Int, divisorOverride)(Out, out),
      at::avg_pool3d_out(out, self, kernelSize, stride, padding, ceilMode, countIncludePad, divisor(divisorOverride)))
ACLNN(AvgPool3dBackward,
      (In, gradOutput)(In, self)(Ints, kernelSize)(Ints, stride)(Ints, padding)(Bool, ceilMode)(Bool, countIncludePad)(
          Int, divisorOverride)(Out, output),
      rounded_once(output, [&](at::Tensor& target) {
        at::avg_pool3d_backward_out(target, widened(gradOutput), widened(self), kernelSize, stride, padding, ceilMode,
                                    countIncludePad, divisor(divisorOverride));
      }))

ACLNN(MaxPool2dWithIndices,
      (In, self)(Ints, kernelSize)(Ints, stride)(Ints, padding)(Ints, dilation)(Bool, ceilMode)(Out, out)(OutIndex,
                                                                                                          indices),
      at::max_pool2d_with_indices_out(out, indices, self, kernelSize, stride, padding, dilation, ceilMode))
ACLNN(MaxPool2dWithIndicesBackward,
      (In, gradOutput)(In, self)(Index, indices)(Ints, kernelSize)(Ints, stride)(Ints, padding)(Ints, dilation)(
          Bool, ceilMode)(Out, gradInput),
      at::max_pool2d_with_indices_backward_out(gradInput, gradOutput, self, kernelSize, stride, padding, dilation,
                                               ceilMode, indices))
ACLNN(MaxPool2dWithMask,
      (In, self)(Ints, kernelSize)(Ints, stride)(Ints, padding)(Ints, dilation)(Bool, ceilMode)(Out, out)(Out, indices),
      max_pool_with_mask(self, kernelSize, stride, padding, dilation, ceilMode, out, indices))
ACLNN(MaxPool2dWithMaskBackward,
      (In, gradOutput)(In, self)(In, indices)(Ints, kernelSize)(Ints, stride)(Ints, padding)(Ints, dilation)(
          Bool, ceilMode)(Out, gradInput),
      max_pool_with_mask_backward(gradOutput, self, indices, kernelSize, stride, padding, dilation, ceilMode,
                                  gradInput))
ACLNN(MaxPool3dWithArgmax,
      (In, self)(Ints, kernelSize)(Ints, stride)(Ints, padding)(Ints, dilation)(Bool, ceilMode)(Out, out)(OutIndex,
                                                                                                          indices),
      at::max_pool3d_with_indices_out(out, indices, self, kernelSize, stride, padding, dilation, ceilMode))
ACLNN(MaxPool3dWithArgmaxBackward,
      (In, gradOutput)(In, self)(Index, indices)(Ints, kernelSize)(Ints, stride)(Ints, padding)(Ints, dilation)(
          Bool, ceilMode)(Out, gradInput),
      at::max_pool3d_with_indices_backward_out(gradInput, gradOutput, self, kernelSize, stride, padding, dilation,
                                               ceilMode, indices))
ACLNN(MaxUnpool2d, (In, self)(Index, indices)(Ints, outputSize)(Out, out),
      at::max_unpool2d_out(out, self, indices, outputSize))
ACLNN(MaxUnpool3d, (In, self)(Index, indices)(Ints, outputSize)(Ints, stride)(Ints, padding)(Out, outRef),
      at::max_unpool3d_out(outRef, self, indices, outputSize, stride, padding))
ACLNN(MaxUnpool2dBackward, (In, gradOutput)(In, self)(Index, indices)(Ints, outputSize)(Out, out),
      max_unpool_backward(gradOutput, indices, outputSize, 2, out))
ACLNN(MaxUnpool3dBackward,
      (In, gradOutput)(In, self)(Index, indices)(Ints, outputSize)(Ints, stride)(Ints, padding)(Out, out),
      max_unpool_backward(gradOutput, indices, outputSize, 3, out))
ACLNN(MaxPool,
      (In, self)(Ints, kernelShape)(Ints, strides)(Int, autoPad)(Ints, pads)(Ints, dilations)(Int, ceilMode)(Out, out),
      max_pool(self, kernelShape, strides, autoPad, pads, dilations, ceilMode != 0, out))
