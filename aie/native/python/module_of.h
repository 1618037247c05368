// module_of.h: graphs of Python's making in torch_aie._C.
#pragma once

#include <torch/csrc/utils/pybind.h>

void bind_module_of(pybind11::module_& module);
