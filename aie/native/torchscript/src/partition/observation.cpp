// partition/observation.cpp: nodes that record values are put into the graph, and taken out when it has run.
#include "partition/observation.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <sstream>

#include "conversion/inputs.h"
#include "log/log.h"
#include "partition/late_numbers.h"

namespace torch_aie::core::partition {

namespace {

using conversion::InputType;
using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

const c10::Symbol kObserve = c10::Symbol::fromQualString("torch_aie::observe");
const c10::Symbol kWhere = c10::Symbol::attr("where");
const c10::Symbol kWhich = c10::Symbol::attr("which");

bool same(const Observed& a, const c10::IValue& b) {
  if (!b.isTensor()) return !a.tensor && a.value == b;
  const at::Tensor& tensor = b.toTensor();
  return a.tensor && tensor.defined() && a.tensor->type == tensor.scalar_type() && tensor.sizes() == a.tensor->shape;
}

void record(Observations& all, const Value* which, const c10::IValue& seen) {
  const auto [place, first] = all.try_emplace(which);
  Observed& observed = place->second;
  if (!first) {
    observed.varies |= !same(observed, seen);
    return;
  }
  if (!seen.isTensor()) {
    observed.value = seen;
  } else if (seen.toTensor().defined()) {
    observed.tensor = {seen.toTensor().scalar_type(), seen.toTensor().sizes().vec()};
  }
}

/// The node knows where to record: it lives in one call of `observe`, and so do the addresses.
torch::jit::Operation observer(const Node* node) {
  auto* const all = reinterpret_cast<Observations*>(node->i(kWhere));
  const auto* const which = reinterpret_cast<const Value*>(node->i(kWhich));
  return [all, which](torch::jit::Stack& stack) { record(*all, which, torch::jit::pop(stack)); };
}

const torch::jit::RegisterOperators g_operator({torch::jit::Operator(kObserve, observer,
                                                                     c10::AliasAnalysisKind::CONSERVATIVE)});

bool is_observable(const Value* value) {
  c10::TypePtr type = value->type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  if (const auto list = type->cast<c10::ListType>()) type = list->getElementType();
  const bool tensor = type->isSubtypeOf(*c10::TensorType::get());
  return (tensor && value->type()->kind() != c10::TypeKind::ListType) || type->kind() == c10::TypeKind::IntType ||
         type->kind() == c10::TypeKind::FloatType || type->kind() == c10::TypeKind::BoolType;
}

/// Puts the nodes in, and takes them out again.
class Observers {
 public:
  Observers(Graph& graph, Observations& all) : graph_(graph), all_(all) { enter(graph.block()); }
  ~Observers() {
    for (Node* node : nodes_) node->destroy();
  }
  Observers(const Observers&) = delete;
  Observers& operator=(const Observers&) = delete;

 private:
  void enter(Block* block) {
    for (Value* value : block->inputs()) add(value, *block->nodes().begin());
    std::vector<Node*> nodes(block->nodes().begin(), block->nodes().end());
    for (Node* node : nodes) {
      if (node->kind() == c10::prim::Constant) continue;
      for (Block* inner : node->blocks()) enter(inner);
      for (Value* value : node->outputs()) add(value, node->next());
    }
  }

  void add(Value* value, Node* before) {
    if (!is_observable(value)) return;
    Node* const node = graph_.create(kObserve, {value}, 0);
    node->i_(kWhere, reinterpret_cast<int64_t>(&all_));
    node->i_(kWhich, reinterpret_cast<int64_t>(value));
    node->insertBefore(before);
    nodes_.push_back(node);
  }

  Graph& graph_;
  Observations& all_;
  std::vector<Node*> nodes_;
};

/// Negates the conditions of a graph while it lives.
class OtherBranches {
 public:
  explicit OtherBranches(Graph& graph) { enter(graph.block()); }
  ~OtherBranches() {
    for (const auto& [branch, condition] : conditions_) {
      Node* const negation = branch->input(0)->node();
      branch->replaceInput(0, condition);
      negation->destroy();
    }
  }
  OtherBranches(const OtherBranches&) = delete;
  OtherBranches& operator=(const OtherBranches&) = delete;

  bool empty() const { return conditions_.empty(); }

 private:
  void enter(Block* block) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) enter(inner);
      if (node->kind() != c10::prim::If) continue;
      Value* const condition = node->input(0);
      Node* const negation = node->owningGraph()->create(c10::aten::__not__, {condition}, 1);
      negation->output()->setType(c10::BoolType::get());
      negation->insertBefore(node);
      node->replaceInput(0, negation->output());
      conditions_.emplace_back(node, condition);
    }
  }

  std::vector<std::pair<Node*, Value*>> conditions_;
};

void run(const lowering::Lowered& lowered, const std::vector<InputType>& inputs, size_t choice) {
  // A copy: the run must not change the module's state. Weights are constants of the graph here.
  torch::jit::Stack stack{lowered.module.deepcopy()._ivalue()};
  for (const InputType& input : inputs) stack.emplace_back(at::zeros(conversion::sample(input, choice), input.type));
  const at::NoGradGuard no_gradients;
  torch::jit::InterpreterState(torch::jit::Code(lowered.graph, "observation")).run(stack);
}

std::string describe(const Graph& graph, const std::vector<InputType>& inputs, size_t choice) {
  std::ostringstream text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    text << (i == 0 ? "%" : ", %") << graph.inputs()[i + 1]->debugName() << " " << inputs[i].type
         << at::IntArrayRef(conversion::sample(inputs[i], choice));
  }
  return text.str();
}

/// A branch that fails is one that these inputs never take: what was seen before counts.
void run_other_branches(const lowering::Lowered& lowered, const std::vector<InputType>& inputs, size_t choice,
                        Observations& all) {
  const OtherBranches other(*lowered.graph);
  if (other.empty()) return;
  Observations seen;
  const Observers observers(*lowered.graph, seen);
  try {
    run(lowered, inputs, choice);
  } catch (const std::exception& e) {
    log(Level::kInfo, "branches that zeros do not take do not run on them, they stay on libtorch: ", e.what());
  }
  for (auto& [value, observed] : seen) {
    const auto [place, first] = all.try_emplace(value, observed);
    if (first) continue;
    Observed& known = place->second;
    known.varies |= observed.varies || known.tensor.has_value() != observed.tensor.has_value();
    if (known.tensor && observed.tensor) {
      known.varies |= known.tensor->type != observed.tensor->type || known.tensor->shape != observed.tensor->shape;
    } else if (!known.tensor) {
      known.varies |= known.value != observed.value;
    }
  }
}

Observations observe(const lowering::Lowered& lowered, const std::vector<InputType>& inputs, size_t choice) {
  Observations all;
  {
    const Observers observers(*lowered.graph, all);
    try {
      run(lowered, inputs, choice);
    } catch (const std::exception& e) {
      TORCH_CHECK_VALUE(false, "the module does not run on zeros of the declared inputs (",
                        describe(*lowered.graph, inputs, choice), "): ", e.what());
    }
  }
  run_other_branches(lowered, inputs, choice, all);
  return all;
}

/// Adds the same value with another choice of the inputs' sizes.
void add_choice(Observed& known, const Observed& other) {
  if (!known.tensor || !other.tensor) {
    known.by_size |= known.tensor.has_value() != other.tensor.has_value() || known.value != other.value;
    known.varies |= known.by_size;
    return;
  }
  const bool alike =
      known.tensor->type == other.tensor->type && known.tensor->shape.size() == other.tensor->shape.size();
  known.varies |= other.varies || !alike;
  known.tensor->samples.push_back(other.tensor->shape);
}

/// Several choices in one: the shape of a tensor may depend on the choice, other values must not.
void join(Observed& value, size_t choices, const std::vector<InputType>& inputs) {
  if (!value.tensor) return;
  value.varies |= value.tensor->samples.size() != choices;
  if (!value.varies) value.tensor = conversion::inner_type(value.tensor->type, value.tensor->samples, inputs);
}

Observations observe_choices(const lowering::Lowered& lowered, const std::vector<InputType>& inputs) {
  const size_t choices = conversion::choices(inputs);
  Observations all = observe(lowered, inputs, 0);
  if (choices == 1) return all;
  for (auto& entry : all) {
    if (entry.second.tensor) entry.second.tensor->samples = {entry.second.tensor->shape};
  }
  for (size_t choice = 1; choice < choices; ++choice) {
    for (const auto& [value, observed] : observe(lowered, inputs, choice)) {
      const auto [place, first] = all.try_emplace(value, observed);
      if (!first) add_choice(place->second, observed);
    }
  }
  for (auto& entry : all) join(entry.second, choices, inputs);
  mark_late_numbers(*lowered.graph, all);
  return all;
}

}  // namespace

Observations observe(const lowering::Lowered& lowered, const std::vector<InputType>& inputs) {
  Observations all = observe_choices(lowered, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) all[lowered.graph->inputs()[i + 1]] = {inputs[i], {}, false};
  return all;
}

}  // namespace torch_aie::core::partition
