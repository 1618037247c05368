// util/aliases.h: what is changed in place.
#pragma once

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/ir.h>

namespace torch_aie::core {

/// Whether an operand or a result of the node, or an alias of one, is written by any node of the graph.
bool touches_written(const torch::jit::AliasDb& aliases, const torch::jit::Node* node);

}  // namespace torch_aie::core
