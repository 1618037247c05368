// native/opapi/ops/vision/convolution.cpp
// Convolutions of 1, 2 and 3 spatial dimensions, and the patch extraction they are built from. cubeMathType is a hint
// for the device's matrix unit.
#include "opapi/ops/common/precision.h"

namespace {

// Padding may be given for both ends of each dimension (begin, end, begin, end, ...). ATen pads both ends alike, so an
// uneven padding is applied to the input first.
struct Padded {
  at::Tensor input;
  at::DimVector padding;
};

Padded pad(const at::Tensor& input, at::IntArrayRef padding, int64_t spatial) {
  if (static_cast<int64_t>(padding.size()) != 2 * spatial || spatial == 0) return {input, at::DimVector(padding)};
  at::DimVector even, ends;  // ends: last dimension first, as constant_pad_nd takes them
  bool uneven = false;
  for (int64_t i = 0; i < spatial; ++i) {
    even.push_back(padding[2 * i]);
    uneven = uneven || padding[2 * i] != padding[2 * i + 1];
  }
  if (!uneven) return {input, even};
  for (int64_t i = spatial - 1; i >= 0; --i) ends.append({padding[2 * i], padding[2 * i + 1]});
  return {at::constant_pad_nd(input, ends, 0), at::DimVector(spatial, 0)};
}

// ATen's transposed convolutions of bfloat16 add what overlaps in bfloat16.
at::ScalarType convolved_in(const at::Tensor& input, bool transposed) {
  return transposed ? computed_in(input.scalar_type()) : product_dtype(input.scalar_type());
}

void convolution(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                 at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                 at::IntArrayRef output_padding, int64_t groups, at::Tensor& output) {
  const bool unbatched = input.dim() == weight.dim() - 1;
  const Padded padded = pad(unbatched ? input.unsqueeze(0) : input, padding, weight.dim() - 2);
  const at::ScalarType dtype = convolved_in(input, transposed);
  const at::Tensor result =
      at::convolution(padded.input.to(dtype), weight.to(dtype), bias ? OptionalTensor(bias->to(dtype)) : bias, stride,
                      padded.padding, dilation, transposed, output_padding, groups);
  assign(output, unbatched && output.dim() == input.dim() ? result.squeeze(0) : result);
}

void convolution_backward(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight,
                          at::OptionalIntArrayRef bias_sizes, at::IntArrayRef stride, at::IntArrayRef padding,
                          at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding, int64_t groups,
                          c10::ArrayRef<uint8_t> output_mask, at::Tensor& grad_input, at::Tensor& grad_weight,
                          at::Tensor& grad_bias) {
  const at::ScalarType dtype = convolved_in(input, transposed);
  const auto [by_input, by_weight, by_bias] =
      at::convolution_backward(grad.to(dtype), input.to(dtype), weight.to(dtype), bias_sizes, stride, padding, dilation,
                               transposed, output_padding, groups, mask<3>(output_mask));
  if (by_input.defined()) assign(grad_input, by_input);
  if (by_weight.defined()) assign(grad_weight, by_weight);
  if (by_bias.defined()) assign(grad_bias, by_bias);
}

// One filter (or a few) per input channel.
void depthwise(const at::Tensor& self, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
               at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, at::Tensor& out) {
  assign(out, at::convolution(for_product(self), for_product(weight), for_product(bias), stride, padding, dilation,
                              false, at::DimVector(padding.size(), 0), self.size(1)));
}

void conv_tbc_backward(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight,
                       const at::Tensor& bias, int64_t pad, at::Tensor& grad_input, at::Tensor& grad_weight,
                       at::Tensor& grad_bias) {
  const auto [by_input, by_weight, by_bias] = at::conv_tbc_backward(grad, input, weight, bias, pad);
  assign(grad_input, by_input);
  assign(grad_weight, by_weight);
  assign(grad_bias, by_bias);
}

}  // namespace

ACLNN(Convolution,
      (In, input)(In, weight)(OptIn, bias)(Ints, stride)(Ints, padding)(Ints, dilation)(Bool, transposed)(
          Ints, outputPadding)(Int, groups)(Out, output)(MathType, cubeMathType),
      convolution(input, weight, bias, stride, padding, dilation, transposed, outputPadding, groups, output))
ACLNN(ConvolutionBackward,
      (In, gradOutput)(In, input)(In, weight)(OptInts, biasSizes)(Ints, stride)(Ints, padding)(Ints, dilation)(
          Bool, transposed)(Ints, outputPadding)(Int32, groups)(Bools, outputMask)(MathType, cubeMathType)(
          OptOut, gradInput)(OptOut, gradWeight)(OptOut, gradBias),
      convolution_backward(gradOutput, input, weight, biasSizes, stride, padding, dilation, transposed, outputPadding,
                           groups, outputMask, gradInput, gradWeight, gradBias))
ACLNN(ConvDepthwise2d,
      (In, self)(In, weight)(Ints, kernelSize)(OptIn, bias)(Ints, stride)(Ints, padding)(Ints, dilation)(Out, out)(
          MathType, cubeMathType),
      depthwise(self, weight, bias, stride, padding, dilation, out))
ACLNN(ConvTbc, (In, self)(In, weight)(In, bias)(Int, pad)(Out, output)(MathType, cubeMathType),
      assign(output, at::conv_tbc(self, weight, bias, pad)))
ACLNN(ConvTbcBackward,
      (In, self)(In, input)(In, weight)(In, bias)(Int, pad)(MathType,
                                                            cubeMathType)(Out, gradInput)(Out, gradWeight)(Out,
                                                                                                           gradBias),
      conv_tbc_backward(self, input, weight, bias, pad, gradInput, gradWeight, gradBias))
