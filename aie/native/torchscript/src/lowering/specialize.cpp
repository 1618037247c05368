// lowering/specialize.cpp: numbers that do not depend on what tensors hold are the same in every run with these shapes.
#include "lowering/specialize.h"

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/loop_unrolling.h>
#include <torch/csrc/jit/passes/remove_mutation.h>

#include <algorithm>

#include "partition/dependence.h"

namespace torch_aie::core::lowering {

namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// Loops beyond these stay loops: engines are made of nodes.
constexpr int64_t kMostRounds = 64;
constexpr int64_t kMostNodes = 4096;

class Numbers {
 public:
  Numbers(const std::shared_ptr<Graph>& graph, const partition::Observations& observations)
      : graph_(*graph),
        aliases_(graph),
        observations_(observations),
        dependences_(partition::dependences_of(*graph, observations)) {}

  void fix() { fix(graph_.block()); }

 private:
  void fix(Block* block) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) fix(inner);
      if (node->kind() == c10::prim::Constant) continue;
      for (Value* output : node->outputs()) fix(output);
    }
  }

  void fix(Value* value) {
    const auto seen = observations_.find(value);
    if (seen == observations_.end() || seen->second.tensor || seen->second.varies || !value->hasUses()) return;
    if (value->type()->isSubtypeOf(*c10::TensorType::get()) || aliases_.hasWriters(value)) return;
    const auto dependence = dependences_.find(value);
    if (dependence == dependences_.end() || dependence->second.value) return;
    const torch::jit::WithInsertPoint here(value->node());
    const auto constant = torch::jit::tryInsertConstant(graph_, seen->second.value);
    if (!constant) return;
    (*constant)->setType(value->type());
    value->replaceAllUsesWith(*constant);
  }

  Graph& graph_;
  const torch::jit::AliasDb aliases_;
  const partition::Observations& observations_;
  const partition::Dependences dependences_;
};

int64_t count(const Block* block) {
  int64_t nodes = 0;
  for (const Node* node : block->nodes()) {
    ++nodes;
    for (const Block* inner : node->blocks()) nodes += count(inner);
  }
  return nodes;
}

/// Branches in all blocks.
int64_t branches(const Block* block) {
  int64_t number = 0;
  for (const Node* node : block->nodes()) {
    number += node->kind() == c10::prim::If;
    for (const Block* inner : node->blocks()) number += branches(inner);
  }
  return number;
}

/// The most rounds of a loop with a constant count; 0 if there is none, -1 if one is too long.
int64_t rounds(const Block* block) {
  int64_t most = 0;
  for (const Node* node : block->nodes()) {
    for (const Block* inner : node->blocks()) {
      const int64_t nested = rounds(inner);
      if (nested < 0) return -1;
      most = std::max(most, nested);
    }
    if (node->kind() != c10::prim::Loop) continue;
    const auto trips = torch::jit::constant_as<int64_t>(node->input(0));
    const auto begin = torch::jit::constant_as<bool>(node->input(1));
    const auto again = torch::jit::constant_as<bool>(node->blocks()[0]->outputs()[0]);
    if (!trips || !begin || !again || !*begin || !*again) continue;
    if (*trips > kMostRounds || *trips * count(node->blocks()[0]) > kMostNodes) return -1;
    most = std::max(most, *trips);
  }
  return most;
}

}  // namespace

bool specialize(const std::shared_ptr<Graph>& graph, const partition::Observations& observations) {
  const int64_t before = branches(graph->block());
  Numbers(graph, observations).fix();
  std::shared_ptr<Graph> same = graph;  // passes take a reference
  torch::jit::ConstantPropagation(same);
  const bool unrolled = rounds(graph->block()) > 0 && torch::jit::UnrollConstantLoops(same);
  if (unrolled) {
    torch::jit::RemoveListMutation(same);
    torch::jit::RemoveTensorMutation(same);
  }
  torch::jit::EliminateDeadCode(graph);
  return unrolled || branches(graph->block()) < before;
}

}  // namespace torch_aie::core::lowering
