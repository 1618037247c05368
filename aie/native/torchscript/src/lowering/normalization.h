// lowering/normalization.h: one name for each operation, and none for what does nothing.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <string>
#include <vector>

namespace torch_aie::core::lowering {

/// Aliases get the name of their operator, old view operators that of reshape; `kept` names stay.
void normalize(const std::shared_ptr<torch::jit::Graph>& graph, const std::vector<std::string>& kept);

/// Dropout in evaluation, contiguous, detach and their like, of what nobody changes; `kept` names stay.
void remove_no_ops(const std::shared_ptr<torch::jit::Graph>& graph, const std::vector<std::string>& kept);

}  // namespace torch_aie::core::lowering
