// csrc/register.cpp: the schemas, the calls through the dispatcher, and the Python module.
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>

#include "function.h"

TORCH_LIBRARY(myops, m) {
  m.def("my_op(Tensor self, Tensor other) -> Tensor");
  m.def("my_op_backward(Tensor grad_output) -> (Tensor, Tensor)");
}

namespace custom_ops {

at::Tensor my_op(const at::Tensor& self, const at::Tensor& other) {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("myops::my_op", "").typed<decltype(my_op)>();
  return op.call(self, other);
}

std::tuple<at::Tensor, at::Tensor> my_op_backward(const at::Tensor& grad_output) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("myops::my_op_backward", "").typed<decltype(my_op_backward)>();
  return op.call(grad_output);
}

}  // namespace custom_ops

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  // The GIL is released as it is for torch's own operators: other Python threads go on.
  m.def("add_custom", &custom_ops::my_op, "self + other", py::arg("self"), py::arg("other"),
        py::call_guard<py::gil_scoped_release>());
}
