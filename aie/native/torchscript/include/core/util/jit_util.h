// core/util/jit_util.h: nodes of TorchScript graphs, for people.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <string>

#include "common/Common.h"

namespace torch_aie::core::util {

/// "%out = aten::op(%a, %b) at file.py:12", in one line.
ASCENDIE_API std::string nodeInfo(const torch::jit::Node* node);

}  // namespace torch_aie::core::util
