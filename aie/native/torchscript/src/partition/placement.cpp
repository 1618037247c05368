// partition/placement.cpp: each node by itself first, then what follows for its neighbours.
#include "partition/placement.h"

#include <c10/util/StringUtil.h>

#include <algorithm>

#include "conversion/evaluators.h"
#include "core/conversion/converters/converters.h"
#include "core/util/prelude.h"
#include "partition/kept.h"
#include "util/aliases.h"
#include "util/types.h"

namespace torch_aie::core::partition {

namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

bool is_tensor(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

/// Of m.def("name", function): it does not say what the function writes, and PyTorch then expects the worst.
bool has_inferred_schema(const Node* node) {
  const torch::jit::Operator* const known = node->maybeOperator();
  if (!known || known->aliasAnalysisKind() != c10::AliasAnalysisKind::CONSERVATIVE) return false;
  const auto& arguments = known->schema().arguments();
  return !arguments.empty() && arguments.front().name() == "_0";
}

}  // namespace

Placement::Placement(const std::shared_ptr<torch::jit::Graph>& graph, const torchscript::CompileOptions& options,
                     const Knowledge& knowledge)
    : options_(options),
      knowledge_(knowledge),
      aliases_(graph),
      dependences_(dependences_of(*graph, knowledge.observations ? *knowledge.observations : Observations{})) {
  enter(graph->block());
  settle();
}

Place Placement::of(const Node* node) const {
  const auto found = places_.find(node);
  return found == places_.end() ? Place::kLibtorch : found->second.place;
}

const std::string& Placement::reason(const Node* node) const { return places_.at(node).reason; }

void Placement::enter(Block* block) {
  for (Node* node : block->nodes()) {
    nodes_.push_back(node);
    for (Block* inner : node->blocks()) enter(inner);
    if (has_effects(node)) ordered_.insert(node);
    decide(node);
  }
}

void Placement::decide(const Node* node) {
  Where& where = places_[node];
  if (node->kind() == c10::prim::DictConstruct) return;  // on libtorch for no reason: it only holds results
  where.reason = hindrance(node);
  if (!where.reason.empty()) {
    where.place = Place::kLibtorch;
  } else {
    where.place =
        conversion::converters::FindConverter(node) || unpacks_engines_list(node) ? Place::kEngine : Place::kEvaluated;
  }
}

/// Such a node goes with the one that makes the list.
bool Placement::unpacks_engines_list(const Node* node) const {
  const auto from_engine = [&](const Value* input) { return !is_tensor(input) && of(input->node()) == Place::kEngine; };
  const auto inputs = node->inputs();
  const auto outputs = node->outputs();
  return std::any_of(inputs.begin(), inputs.end(), from_engine) &&
         std::any_of(outputs.begin(), outputs.end(), is_tensor);
}

/// Why neither an engine nor an evaluator can have the node; empty if one can.
std::string Placement::hindrance(const Node* node) const {
  if (!node->blocks().empty()) return "control flow";
  if (node->kind() == c10::prim::Constant) return "";
  const bool converted = conversion::converters::FindConverter(node);
  const bool evaluable = !converted && conversion::is_evaluable(node);
  if (touches_written(aliases_, node)) {
    return has_inferred_schema(node) ? "its schema was inferred from its function, and does not say what is changed in "
                                       "place: give m.def a schema string"
                                     : "it has to do with what is changed in place";
  }
  if (is_kept(node, options_)) return "torch_executed_ops";
  if (converted && is_in_kept_module(node, options_)) return "torch_executed_modules";
  if (knowledge_.declined.count(node)) return "its converter declined these arguments";
  if (!converted && !evaluable) return "it has no converter";
  for (const auto values : {node->inputs(), at::ArrayRef<const Value*>(node->outputs())}) {
    for (const Value* value : values) {
      if (std::string text = unfit(value); !text.empty()) return text;
    }
  }
  if (depends_on_sizes(node)) return "its result depends on sizes that are not fixed (allow_tensor_replace_int is off)";
  const auto by_values = [&](const Value* output) {
    const auto found = dependences_.find(output);
    return !holds_tensor(output->type()) && found != dependences_.end() && found->second.value;
  };
  const auto outputs = node->outputs();
  const bool numbers = std::any_of(outputs.begin(), outputs.end(), by_values);
  return numbers ? "its result depends on what tensors hold" : "";
}

/// Whether a number is another one with other sizes, and must stay a number.
bool Placement::depends_on_sizes(const Node* node) const {
  if (options_.allow_tensor_replace_int || !knowledge_.observations) return false;
  const auto outputs = node->outputs();
  return std::any_of(outputs.begin(), outputs.end(), [&](const Value* output) {
    const auto seen = knowledge_.observations->find(output);
    return seen != knowledge_.observations->end() && seen->second.by_size;
  });
}

/// Why the value cannot be in an engine; empty if it can.
std::string Placement::unfit(const Value* value) const {
  if (!holds_tensor(value->type())) return "";
  const auto dependence = dependences_.find(value);
  if (dependence != dependences_.end() && dependence->second.shape) {
    return c10::str("the shape of %", value->debugName(), " depends on what tensors hold");
  }
  const std::string type = knowledge_.observations && is_tensor(value) ? unfit_type(value) : "";
  return type.empty() ? type : c10::str("%", value->debugName(), " ", type);
}

std::string Placement::unfit_type(const Value* value) const {
  if (value->node()->kind() == c10::prim::Constant) return "";
  const auto seen = knowledge_.observations->find(value);
  if (seen == knowledge_.observations->end()) return "is in a branch that zeros do not reach";
  const Observed& observed = seen->second;
  if (observed.varies) return "has several shapes or types";
  if (!observed.tensor) return "is no tensor";
  if (!util::hasDataType(observed.tensor->type))
    return std::string("has the dtype ") + c10::toString(observed.tensor->type);
  // A double without dimensions is a number: it does not make its partners doubles.
  const bool number = observed.tensor->shape.empty();
  const bool kept = observed.tensor->type == at::kDouble && !number && !options_.truncate_long_and_double;
  return kept ? "has the dtype Double, and truncate_long_and_double is off" : "";
}

bool Placement::has_effects(const Node* node) const {
  if (node->kind() == c10::prim::Constant) return false;
  if (node->hasSideEffects() || node->isNondeterministic() || touches_written(aliases_, node)) return true;
  const auto blocks = node->blocks();
  return std::any_of(blocks.begin(), blocks.end(), [&](const Block* block) {
    const auto inner = block->nodes();
    return std::any_of(inner.begin(), inner.end(), [&](const Node* one) { return has_effects(one); });
  });
}

/// Whether an engine or a copy of an evaluated node can have the value as an operand.
bool Placement::comes_in(const Value* value, const Node* user) const {
  const Place place = of(value->node());
  if (is_tensor(value)) return true;
  if (place == Place::kEvaluated) return true;
  return place == Place::kEngine && value->node()->owningBlock() == user->owningBlock();
}

/// Lists do not leave engines.
bool Placement::list_stays_inside(const Value* list) const {
  const auto& uses = list->uses();
  return std::all_of(uses.begin(), uses.end(), [&](const torch::jit::Use& use) {
    const Place place = of(use.user);
    if (use.user->owningBlock() != list->node()->owningBlock()) return false;
    if (place == Place::kEngine) return true;
    const auto outputs = use.user->outputs();
    return place == Place::kEvaluated &&
           std::all_of(outputs.begin(), outputs.end(), [&](const Value* output) { return !is_tensor(output); }) &&
           std::all_of(outputs.begin(), outputs.end(), [&](const Value* output) { return list_stays_inside(output); });
  });
}

/// True if the node's place changed.
bool Placement::follow(const Node* node) {
  Where& where = places_.at(node);
  if (where.place == Place::kLibtorch || node->kind() == c10::prim::Constant) return false;
  const auto inputs = node->inputs();
  for (const Value* input : inputs) {
    if (comes_in(input, node)) continue;
    const bool converted = conversion::converters::FindConverter(node);
    where = {Place::kLibtorch, converted ? c10::str("libtorch computes its operand %", input->debugName()) : ""};
    return true;
  }
  if (where.place != Place::kEngine) return false;
  for (const Value* output : node->outputs()) {
    if (is_tensor(output) || list_stays_inside(output)) continue;
    where = {Place::kLibtorch, c10::str("libtorch reads its result %", output->debugName())};
    return true;
  }
  return false;
}

void Placement::settle() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Node* node : nodes_) changed |= follow(node);
  }
}

void Placement::fall_back(const Node* node, const std::string& reason) { places_[node] = {Place::kLibtorch, reason}; }

}  // namespace torch_aie::core::partition
