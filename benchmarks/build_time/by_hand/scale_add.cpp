// scale_add.cpp: the operator as it is written by hand against torch/extension.h and op_api_common.h.
#include <c10/core/DeviceGuard.h>
#include <torch/extension.h>

#include "op_plugin/utils/op_api_common.h"

namespace peer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor scale_add(const at::Tensor& x, const at::Tensor& y, double alpha) {
  static auto op = torch::Dispatcher::singleton()
                       .findSchemaOrThrow("peer::scale_add", "")
                       .typed<at::Tensor(const at::Tensor&, const at::Tensor&, double)>();
  return op.call(x, y, alpha);
}

std::tuple<at::Tensor, at::Tensor> scale_add_backward(const at::Tensor& grad, double alpha) {
  static auto op = torch::Dispatcher::singleton()
                       .findSchemaOrThrow("peer::scale_add_backward", "")
                       .typed<std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, double)>();
  return op.call(grad, alpha);
}

at::Tensor scale_add_meta(const at::Tensor& x, const at::Tensor& y, double alpha) {
  TORCH_CHECK(x.scalar_type() == y.scalar_type(), "x and y must have the same dtype");
  TORCH_CHECK(x.sym_sizes() == y.sym_sizes(), "x and y must have the same shape");
  return at::empty_symint(x.sym_sizes(), x.options());
}

std::tuple<at::Tensor, at::Tensor> scale_add_backward_meta(const at::Tensor& grad, double alpha) {
  return {at::empty_symint(grad.sym_sizes(), grad.options()), at::empty_symint(grad.sym_sizes(), grad.options())};
}

at::Tensor scale_add_npu(const at::Tensor& x, const at::Tensor& y, double alpha) {
  const c10::OptionalDeviceGuard guard(at::device_of(x));
  TORCH_CHECK(x.scalar_type() == y.scalar_type(), "x and y must have the same dtype");
  TORCH_CHECK(x.sizes() == y.sizes(), "x and y must have the same shape");
  at::Tensor out = at::empty(x.sizes(), x.options());
  float alpha_value = static_cast<float>(alpha);
  EXEC_NPU_CMD_EXT(aclnnScaleAdd, x, y, alpha_value, out);
  return out;
}

std::tuple<at::Tensor, at::Tensor> scale_add_backward_npu(const at::Tensor& grad, double alpha) {
  const c10::OptionalDeviceGuard guard(at::device_of(grad));
  at::Tensor grad_x = at::empty(grad.sizes(), grad.options());
  at::Tensor grad_y = at::empty(grad.sizes(), grad.options());
  float alpha_value = static_cast<float>(alpha);
  EXEC_NPU_CMD_EXT(aclnnScaleAddGrad, grad, alpha_value, grad_x, grad_y);
  return {grad_x, grad_y};
}

class ScaleAddFunction : public torch::autograd::Function<ScaleAddFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& y, double alpha) {
    context->saved_data["alpha"] = alpha;
    at::AutoDispatchBelowADInplaceOrView guard;
    return scale_add(x, y, alpha);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    auto [grad_x, grad_y] = scale_add_backward(grads[0], context->saved_data["alpha"].toDouble());
    return {grad_x, grad_y, at::Tensor()};
  }
};

at::Tensor scale_add_autograd(const at::Tensor& x, const at::Tensor& y, double alpha) {
  return ScaleAddFunction::apply(x, y, alpha);
}

}  // namespace
}  // namespace peer

TORCH_LIBRARY(peer, m) {
  m.def("scale_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor");
  m.def("scale_add_backward(Tensor grad, float alpha) -> (Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(peer, PrivateUse1, m) {
  m.impl("scale_add", &peer::scale_add_npu);
  m.impl("scale_add_backward", &peer::scale_add_backward_npu);
}

TORCH_LIBRARY_IMPL(peer, Meta, m) {
  m.impl("scale_add", &peer::scale_add_meta);
  m.impl("scale_add_backward", &peer::scale_add_backward_meta);
}

TORCH_LIBRARY_IMPL(peer, Autograd, m) { m.impl("scale_add", &peer::scale_add_autograd); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scale_add", &peer::scale_add, "x + alpha * y", py::arg("x"), py::arg("y"), py::arg("alpha") = 1.0);
}
