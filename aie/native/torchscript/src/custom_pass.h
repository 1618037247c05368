// custom_pass.h: nodes that stand for what a pattern matched.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <string>
#include <vector>

#include "core/conversion/converters/converters.h"

namespace torch_aie::core::custom_pass {

/// Puts one node in the place of each match; operators of `kept` stay as they are.
/// Throws c10::Error for a registered pattern that does not parse.
void merge(const std::shared_ptr<torch::jit::Graph>& graph, const std::vector<std::string>& kept);
/// Puts the operators back in the place of nodes that no engine took.
void expand(torch::jit::Graph& graph);
/// Null for nodes that stand for nothing.
const conversion::converters::Converter* converter_of(const torch::jit::Node* node);

}  // namespace torch_aie::core::custom_pass
