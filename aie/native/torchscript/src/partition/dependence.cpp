// partition/dependence.cpp: flows shapes and values through the nodes; loops until nothing changes.
#include "partition/dependence.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "util/types.h"

namespace torch_aie::core::partition {

namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

bool reads_only_shape(const Node* node) {
  static const std::set<std::string_view> kinds{
      "aten::size",          "aten::dim",           "aten::len",
      "aten::numel",         "aten::stride",        "aten::is_floating_point",
      "prim::dtype",         "prim::device",        "prim::shape",
      "prim::is_cuda",       "prim::layout",        "aten::is_complex",
      "aten::sym_size",      "prim::type",          "aten::ndim",
      "prim::requires_grad", "aten::is_contiguous",
  };
  return kinds.count(node->kind().toQualString()) > 0;
}

/// Numbers of these types are operands; sizes, dimensions and flags are of other types.
bool is_operand(const Node* node, size_t input) {
  const c10::FunctionSchema* const schema = node->maybeSchema();
  if (!schema || input >= schema->arguments().size()) return false;
  const c10::TypeKind kind = schema->arguments()[input].type()->kind();
  return kind == c10::TypeKind::NumberType || kind == c10::TypeKind::FloatType;
}

class Flow {
 public:
  explicit Flow(const Observations& observations) : observations_(observations) {}

  void enter(Block* block) {
    for (Node* node : block->nodes()) enter(node);
  }

  Dependences all;

 private:
  Dependence merged(c10::ArrayRef<Value*> values) {
    Dependence result;
    for (const Value* value : values) result |= all[value];
    return result;
  }

  void enter(Node* node) {
    if (node->kind() == c10::prim::If) {
      branch(node);
    } else if (node->kind() == c10::prim::Loop) {
      loop(node);
    } else if (!node->blocks().empty()) {
      opaque(node);
    } else {
      simple(node);
    }
  }

  void branch(Node* node) {
    const bool chosen_by_values = all[node->input(0)].value;
    for (Block* inner : node->blocks()) enter(inner);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Dependence& result = all[node->output(i)];
      for (Block* inner : node->blocks()) result |= all[inner->outputs()[i]];
      if (!chosen_by_values) continue;
      result |= {!have_one_shape(node, i), true};
    }
  }

  /// Whether this output of a node with branches has the same shape and type after each of them.
  bool have_one_shape(const Node* node, size_t output) {
    const Observed* first = nullptr;
    for (const Block* inner : node->blocks()) {
      const auto seen = observations_.find(inner->outputs()[output]);
      if (seen == observations_.end() || seen->second.varies || !seen->second.tensor) return false;
      const conversion::InputType& type = *seen->second.tensor;
      if (!type.samples.empty() || !type.profiles.empty()) return false;
      if (first && (first->tensor->type != type.type || first->tensor->shape != type.shape)) return false;
      first = &seen->second;
    }
    return first != nullptr;
  }

  void loop(Node* node) {
    Block* const body = node->blocks().at(0);
    const auto carried = node->inputs().slice(2);
    all[body->inputs()[0]] |= all[node->input(0)];
    for (size_t i = 0; i < carried.size(); ++i) all[body->inputs()[i + 1]] |= all[carried[i]];
    for (bool changed = true; changed;) {
      enter(body);
      changed = false;
      const bool by_values = merged({node->input(0), node->input(1), body->outputs()[0]}).value;
      for (size_t i = 0; i < carried.size(); ++i) {
        Dependence next = all[body->outputs()[i + 1]];
        if (by_values) next = {true, true};
        changed |= all[body->inputs()[i + 1]] |= next;
        all[node->output(i)] |= all[body->inputs()[i + 1]];
      }
    }
  }

  void opaque(Node* node) {
    for (Block* inner : node->blocks()) {
      for (const Value* value : inner->inputs()) all[value] = {true, true};
      enter(inner);
    }
    for (const Value* value : node->outputs()) all[value] = {true, true};
  }

  void simple(Node* node) {
    const Dependence inputs = merged(node->inputs());
    Dependence result = inputs;
    if (reads_only_shape(node)) {
      result.value = inputs.shape;
    } else if (node->kind() == c10::prim::GetAttr) {
      result = {false, true};
    } else {
      result.value |= inputs.shape || node->isNondeterministic();
      result.shape |= numbers_by_values(node) || (inputs.value && makes_shape_of_values(node));
    }
    for (const Value* value : node->outputs()) all[value] |= result;
  }

  bool numbers_by_values(const Node* node) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const Value* const input = node->input(i);
      if (all[input].value && !holds_tensor(input->type()) && !is_operand(node, i)) return true;
    }
    return false;
  }

  /// Indexing does for masks; what is not known is taken for an index.
  bool makes_shape_of_values(const Node* node) {
    if (node->kind() != c10::aten::index) return shapes_by_values(node);
    const auto indices = node->input(1)->node()->inputs();
    return std::any_of(indices.begin(), indices.end(), [&](const Value* index) {
      const auto seen = observations_.find(index);
      if (seen == observations_.end() || !seen->second.tensor) return false;
      return seen->second.tensor->type == at::kBool || seen->second.tensor->type == at::kByte;
    });
  }

  const Observations& observations_;
};

}  // namespace

bool shapes_by_values(const Node* node) {
  const c10::FunctionSchema* const schema = node->maybeSchema();
  if (!schema) return false;
  const auto handle = c10::Dispatcher::singleton().findSchema(schema->operator_name());
  return handle && handle->hasTag(at::Tag::dynamic_output_shape);
}

Dependences dependences_of(torch::jit::Graph& graph, const Observations& observations) {
  Flow flow(observations);
  for (const Value* input : graph.inputs()) flow.all[input] = {false, true};
  flow.enter(graph.block());
  return std::move(flow.all);
}

}  // namespace torch_aie::core::partition
