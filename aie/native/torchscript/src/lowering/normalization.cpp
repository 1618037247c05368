// lowering/normalization.cpp: tables of operators, applied where neither operands nor results are changed in place.
#include "lowering/normalization.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/normalize_ops.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

#include "util/aliases.h"

namespace torch_aie::core::lowering {

namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

/// An operator that returns its first operand if the input of this number is a constant `false` (-1: always).
constexpr std::pair<std::string_view, int> kNoOps[] = {
    {"aten::dropout", 2},  {"aten::feature_dropout", 2}, {"aten::alpha_dropout", 2}, {"aten::feature_alpha_dropout", 2},
    {"aten::dropout_", 2}, {"aten::contiguous", -1},  // `view` is `reshape` by then
    {"aten::detach", -1},  {"aten::alias", -1},          {"aten::lift_fresh", -1},
};

void for_each(Block* block, const std::function<void(Node*)>& visit) {
  const std::vector<Node*> nodes(block->nodes().begin(), block->nodes().end());
  for (Node* node : nodes) {
    for (Block* inner : node->blocks()) for_each(inner, visit);
    visit(node);
  }
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_no_op(const Node* node) {
  for (const auto& [name, flag] : kNoOps) {
    if (name != node->kind().toQualString()) continue;
    return flag < 0 || torch::jit::constant_as<bool>(node->input(flag)) == false;
  }
  return false;
}

size_t count(Graph& graph, const std::vector<std::string>& kinds) {
  size_t number = 0;
  for_each(graph.block(), [&](Node* node) { number += contains(kinds, node->kind().toQualString()); });
  return number;
}

/// Whether normalization gives operators that are kept another name, as abs for absolute.
bool renames_kept(Graph& graph, const std::vector<std::string>& kept) {
  const std::shared_ptr<Graph> copy = graph.copy();
  torch::jit::NormalizeOps(copy);
  return count(*copy, kept) < count(graph, kept);
}

/// Whether the value is a piece that an unsafe_chunk or unsafe_split made, and nobody reads the whole any more.
bool is_own_piece(const Value* value) {
  if (value->node()->kind() != c10::prim::ListUnpack) return false;
  const Value* const list = value->node()->input(0);
  const std::string_view maker = list->node()->kind().toQualString();
  const bool unsafe = maker == "aten::unsafe_chunk" || maker == "aten::unsafe_split";
  return unsafe && list->uses().size() == 1 && list->node()->input(0)->uses().size() == 1;
}

/// The operator that gives what this one writes into its first operand; null if there is none.
Node* without_writing(Graph& graph, Node* node) {
  const std::string name = node->kind().toQualString();
  const c10::FunctionSchema* const schema = node->maybeSchema();
  if (!schema || !schema->is_mutable() || name.back() != '_' || node->outputs().size() != 1) return nullptr;
  Node* const pure = graph.create(c10::Symbol::fromQualString(name.substr(0, name.size() - 1)), node->inputs(), 1);
  pure->copyMetadata(node);
  pure->output()->copyMetadata(node->output());
  pure->insertBefore(node);
  if (pure->maybeSchema()) return pure;
  pure->destroy();
  return nullptr;
}

/// Pieces that are changed in place, as traced cells do it: no pass of PyTorch's sees that they are nobody else's.
void do_not_write_pieces(Graph& graph) {
  for_each(graph.block(), [&](Node* node) {
    if (node->inputs().empty() || !is_own_piece(node->input(0))) return;
    Value* const piece = node->input(0);
    const auto& uses = piece->uses();
    const bool first = std::all_of(uses.begin(), uses.end(), [&](const torch::jit::Use& use) {
      const bool beside = use.user->owningBlock() == piece->node()->owningBlock();
      return beside && (use.user == node ? use.offset == 0 : use.user->isAfter(node));
    });
    Node* const pure = first ? without_writing(graph, node) : nullptr;
    if (!pure) return;
    piece->replaceAllUsesAfterNodeWith(node, pure->output());
    node->output()->replaceAllUsesWith(pure->output());
    node->destroy();
  });
}

}  // namespace

void normalize(const std::shared_ptr<Graph>& graph, const std::vector<std::string>& kept) {
  if (!renames_kept(*graph, kept)) torch::jit::NormalizeOps(graph);
  do_not_write_pieces(*graph);
  if (contains(kept, "aten::view")) return;
  const torch::jit::AliasDb aliases(graph);
  for_each(graph->block(), [&](Node* node) {
    if (!node->matches("aten::view(Tensor(a) self, int[] size) -> Tensor(a)") || touches_written(aliases, node)) return;
    Node* const reshape = graph->create(c10::aten::reshape, node->inputs(), 1);
    reshape->copyMetadata(node);
    reshape->insertBefore(node);
    reshape->output()->copyMetadata(node->output());
    node->output()->replaceAllUsesWith(reshape->output());
    node->destroy();
  });
}

void remove_no_ops(const std::shared_ptr<Graph>& graph, const std::vector<std::string>& kept) {
  const bool views = contains(kept, "aten::view");  // they need what contiguous gives
  const torch::jit::AliasDb aliases(graph);
  for_each(graph->block(), [&](Node* node) {
    const std::string_view name = node->kind().toQualString();
    if (!is_no_op(node) || contains(kept, name) || (views && name == "aten::contiguous")) return;
    if (touches_written(aliases, node)) return;
    node->output()->replaceAllUsesWith(node->input(0));
    node->destroy();
  });
}

}  // namespace torch_aie::core::lowering
