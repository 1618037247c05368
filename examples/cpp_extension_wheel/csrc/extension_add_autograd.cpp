// csrc/extension_add_autograd.cpp: the derivatives. The derivative of my_op is my_op_backward, and
// that of my_op_backward is my_op, so gradients of any order are available.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "function.h"

namespace custom_ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class MyOpFunction : public torch::autograd::Function<MyOpFunction> {
 public:
  static at::Tensor forward(AutogradContext* /*ctx*/, const at::Tensor& self, const at::Tensor& other) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    return my_op(self, other);
  }

  static variable_list backward(AutogradContext* /*ctx*/, const variable_list& grad_outputs) {
    auto [grad_self, grad_other] = my_op_backward(grad_outputs[0]);
    return {grad_self, grad_other};
  }
};

class MyOpBackwardFunction : public torch::autograd::Function<MyOpBackwardFunction> {
 public:
  static variable_list forward(AutogradContext* /*ctx*/, const at::Tensor& grad_output) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    auto [grad_self, grad_other] = my_op_backward(grad_output);
    return {grad_self, grad_other};
  }

  static variable_list backward(AutogradContext* /*ctx*/, const variable_list& grad_outputs) {
    return {my_op(grad_outputs[0], grad_outputs[1])};
  }
};

at::Tensor my_op_autograd(const at::Tensor& self, const at::Tensor& other) { return MyOpFunction::apply(self, other); }

std::tuple<at::Tensor, at::Tensor> my_op_backward_autograd(const at::Tensor& grad_output) {
  const variable_list grads = MyOpBackwardFunction::apply(grad_output);
  return {grads[0], grads[1]};
}

}  // namespace
}  // namespace custom_ops

TORCH_LIBRARY_IMPL(myops, AutogradPrivateUse1, m) {
  m.impl("my_op", &custom_ops::my_op_autograd);
  m.impl("my_op_backward", &custom_ops::my_op_backward_autograd);
}

// For tensors of device "meta", so that a whole training step can be inferred without a device.
TORCH_LIBRARY_IMPL(myops, AutogradMeta, m) {
  m.impl("my_op", &custom_ops::my_op_autograd);
  m.impl("my_op_backward", &custom_ops::my_op_backward_autograd);
}
