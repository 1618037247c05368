// csrc/function.h: the functions that the files of this extension share.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

namespace custom_ops {

// Through the dispatcher: picks the NPU, Meta or autograd kernel as torch.ops.myops.* does.
at::Tensor my_op(const at::Tensor& self, const at::Tensor& other);
std::tuple<at::Tensor, at::Tensor> my_op_backward(const at::Tensor& grad_output);

// Check the arguments and allocate the outputs, on the arguments' own device and without values.
// They are the whole Meta kernels, and the first step of the NPU kernels.
at::Tensor my_op_meta(const at::Tensor& self, const at::Tensor& other);
std::tuple<at::Tensor, at::Tensor> my_op_backward_meta(const at::Tensor& grad_output);

}  // namespace custom_ops
