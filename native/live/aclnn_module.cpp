// native/live/aclnn_module.cpp
// The Python module opwright.kit.live._aclnn: NPU kernels from plans. Import torch_npu first.
#include <pybind11/pybind11.h>

#include "live/call/aclnn_kernel.h"
#include "live/call/function.h"
#include "live/dispatcher/handle_python.h"
#include "live/plan/plan_reader.h"

namespace py = pybind11;
using namespace opwright::live;

PYBIND11_MODULE(_aclnn, module) {
  module.doc() = "NPU kernels of the live tier: aclnn functions called by plans.";
  bind_handle(module);
  module.def(
      "implement",
      [](const std::string& space, const std::string& name, const py::dict& plan) {
        const auto op = find_operator(space, name);
        return add_kernel(op, "PrivateUse1", aclnn_kernel(read_plan(op, plan)));
      },
      py::arg("namespace"), py::arg("name"), py::arg("plan"), "Register a PrivateUse1 kernel that runs the plan.");
  module.def("has_function", &has_function, py::arg("name"),
             "Whether the aclnn function is in a library, or on the twin has a reference function.");
}
