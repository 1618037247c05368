// csrc/add_custom_autograd.cpp: self + other; NPU and Meta kernels, and derivatives of any order: the derivative of
// add_custom is add_custom_backward, and that of add_custom_backward is add_custom.
#include <ATen/DeviceGuard.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops_common.h"
#include "ops_function.h"

namespace custom_pypto {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Contiguous, whatever the strides of the model: a graph and the device then agree on the layout.
at::Tensor contiguous_like(const at::Tensor& model) {
  return at::empty_like(model, model.options(), at::MemoryFormat::Contiguous);
}

at::Tensor add_custom_npu(const at::Tensor& self, const at::Tensor& other) {
  // Kernels registered with TORCH_LIBRARY_IMPL get no device guard: without it the call goes to the current device.
  const c10::OptionalDeviceGuard guard(at::device_of(self));
  at::Tensor out = add_custom_meta(self, other);
  if (out.numel() == 0) return out;  // a device kernel cannot be launched on no data
  exec_add_custom(self, other, out);
  return out;
}

// Both derivatives are 1. The schema promises new tensors, so each is a copy.
std::tuple<at::Tensor, at::Tensor> add_custom_backward_npu(const at::Tensor& grad) {
  const c10::OptionalDeviceGuard guard(at::device_of(grad));
  auto [grad_self, grad_other] = add_custom_backward_meta(grad);
  grad_self.copy_(grad);
  grad_other.copy_(grad);
  return {grad_self, grad_other};
}

class AddCustom : public torch::autograd::Function<AddCustom> {
 public:
  static at::Tensor forward(AutogradContext* /*ctx*/, const at::Tensor& self, const at::Tensor& other) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    return add_custom(self, other);
  }
  static variable_list backward(AutogradContext* /*ctx*/, const variable_list& grads) {
    auto [grad_self, grad_other] = add_custom_backward(grads[0]);
    return {grad_self, grad_other};
  }
};

class AddCustomBackward : public torch::autograd::Function<AddCustomBackward> {
 public:
  static variable_list forward(AutogradContext* /*ctx*/, const at::Tensor& grad) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    auto [grad_self, grad_other] = add_custom_backward(grad);
    return {grad_self, grad_other};
  }
  static variable_list backward(AutogradContext* /*ctx*/, const variable_list& grads) {
    return {add_custom(grads[0], grads[1])};
  }
};

at::Tensor add_custom_autograd(const at::Tensor& self, const at::Tensor& other) {
  return AddCustom::apply(self, other);
}

std::tuple<at::Tensor, at::Tensor> add_custom_backward_autograd(const at::Tensor& grad) {
  const variable_list grads = AddCustomBackward::apply(grad);
  return {grads[0], grads[1]};
}

}  // namespace

at::Tensor add_custom_meta(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.scalar_type() == at::kHalf || self.scalar_type() == at::kFloat,
              "add_custom: self must be Half or Float, got ", self.scalar_type());
  TORCH_CHECK(other.scalar_type() == self.scalar_type(), "add_custom: other must be ", self.scalar_type(),
              " like self, got ", other.scalar_type());
  TORCH_CHECK(other.device() == self.device(), "add_custom: other must be on ", self.device(), " like self, got ",
              other.device());
  TORCH_CHECK(other.dim() == self.dim(), "add_custom: other must have the shape ", self.sym_sizes(), " of self, got ",
              other.sym_sizes());
  for (int64_t axis = 0; axis < self.dim(); ++axis) {
    TORCH_SYM_CHECK(other.sym_size(axis).sym_eq(self.sym_size(axis)), "add_custom: other must have the shape ",
                    self.sym_sizes(), " of self, got ", other.sym_sizes());
  }
  return contiguous_like(self);
}

std::tuple<at::Tensor, at::Tensor> add_custom_backward_meta(const at::Tensor& grad) {
  return {contiguous_like(grad), contiguous_like(grad)};
}

at::Tensor add_custom(const at::Tensor& self, const at::Tensor& other) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("custom_pypto::add_custom", "").typed<decltype(add_custom)>();
  return op.call(self, other);
}

std::tuple<at::Tensor, at::Tensor> add_custom_backward(const at::Tensor& grad) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("custom_pypto::add_custom_backward", "")
                             .typed<decltype(add_custom_backward)>();
  return op.call(grad);
}

}  // namespace custom_pypto

TORCH_LIBRARY_IMPL(custom_pypto, PrivateUse1, m) {
  m.impl("add_custom", &custom_pypto::add_custom_npu);
  m.impl("add_custom_backward", &custom_pypto::add_custom_backward_npu);
}

TORCH_LIBRARY_IMPL(custom_pypto, Meta, m) {
  m.impl("add_custom", &custom_pypto::add_custom_meta);
  m.impl("add_custom_backward", &custom_pypto::add_custom_backward_meta);
}

TORCH_LIBRARY_IMPL(custom_pypto, Autograd, m) {
  m.impl("add_custom", &custom_pypto::add_custom_autograd);
  m.impl("add_custom_backward", &custom_pypto::add_custom_backward_autograd);
}
