// native/live/boxed_module.cpp
// The Python module opwright.kit.live._boxed: kernels that need torch only.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "live/dispatcher/autograd.h"
#include "live/dispatcher/handle_python.h"

namespace py = pybind11;
using namespace opwright::live;

PYBIND11_MODULE(_boxed, module) {
  module.doc() = "Boxed kernels of the live tier that need torch only.";
  bind_handle(module);
  module.def(
      "autograd",
      [](const std::string& space, const std::string& name, const std::string& key, py::object slow_path,
         std::vector<size_t> differentiable) {
        const auto op = find_operator(space, name);
        return add_kernel(op, key, autograd_kernel(op, std::move(slow_path), std::move(differentiable)));
      },
      py::arg("namespace"), py::arg("name"), py::arg("dispatch_key"), py::arg("slow_path"), py::arg("differentiable"),
      "Register an Autograd kernel that calls slow_path only where a gradient can flow.");
  module.def(
      "version_bump",
      [](const std::string& space, const std::string& name, std::vector<size_t> arguments) {
        const auto op = find_operator(space, name);
        return add_kernel(op, "ADInplaceOrView", version_kernel(op, std::move(arguments)));
      },
      py::arg("namespace"), py::arg("name"), py::arg("arguments"),
      "Register an ADInplaceOrView kernel that bumps the version of the tensors in these arguments.");
}
