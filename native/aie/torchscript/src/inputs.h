// inputs.h: what the caller declared of a graph's inputs.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <vector>

#include "conversion.h"
#include "torch_aie.h"

namespace torch_aie::core::conversion {

/// One for each input of the graph behind the module; throws c10::Error for a declaration that the graph cannot have.
std::vector<InputType> input_types(const torch::jit::Graph& graph, const torchscript::CompileOptions& options);

}  // namespace torch_aie::core::conversion
