// lowering/exceptions.cpp
#include "lowering/exceptions.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>

namespace torch_aie::core::lowering {

namespace {

using torch::jit::Block;
using torch::jit::Node;

bool raises(const Block* block) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    if (node->kind() == c10::prim::RaiseException) return true;
    return node->kind() == c10::prim::If && raises(node->blocks()[0]) && raises(node->blocks()[1]);
  });
}

void decide(Node* branch) {
  const bool first = raises(branch->blocks()[0]);
  if (first == raises(branch->blocks()[1])) return;
  const torch::jit::WithInsertPoint before(branch);
  branch->replaceInput(0, torch::jit::insertConstant(*branch->owningGraph(), !first));
}

void leave_out(Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) leave_out(inner);
    if (node->kind() == c10::prim::If) decide(node);
  }
}

}  // namespace

void leave_out_exceptions(torch::jit::Graph& graph) { leave_out(graph.block()); }

}  // namespace torch_aie::core::lowering
