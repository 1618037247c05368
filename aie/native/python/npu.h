// npu.h: the device npu in torch_aie._C.
#pragma once

#include <torch/csrc/utils/pybind.h>

void bind_npu(pybind11::module_& module);
