// conversion/evaluators.cpp: finds a node's evaluator; operators on constants that have none are run by the JIT itself.
#include "conversion/evaluators.h"

#include <ATen/core/stack.h>
#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "conversion/conversion.h"
#include "conversion/evaluator_tables.h"
#include "conversion/on_behalf_of.h"
#include "conversion/sizes.h"
#include "core/util/prelude.h"
#include "util/types.h"

namespace torch_aie::core::conversion {

namespace {

using torch::jit::Node;

const std::unordered_map<std::string_view, Evaluator>& evaluators() {
  static const auto* const all = [] {
    auto* const map = new std::unordered_map<std::string_view, Evaluator>;  // lives as long as the process
    for (const EvaluatorTable table : {containers(), creations(), properties()}) {
      for (const EvaluatorRow& row : table) map->emplace(row.name, row.evaluate);
    }
    return map;
  }();
  return *all;
}

/// Null if the node's operator has none.
Evaluator evaluator_of(const Node* node) {
  const std::string kind = node->kind().toQualString();
  const c10::FunctionSchema* const schema = node->maybeSchema();
  const auto& all = evaluators();
  auto found = all.end();
  if (schema && !schema->overload_name().empty()) found = all.find(kind + "." + schema->overload_name());
  if (found == all.end()) found = all.find(kind);
  return found == all.end() ? nullptr : found->second;
}

bool hold_tensors(at::ArrayRef<const torch::jit::Value*> values) {
  return std::any_of(values.begin(), values.end(), [](const auto* value) { return holds_tensor(value->type()); });
}

/// Without memory: one element stands for all, and a size that is not known is 1.
at::Tensor without_values(const AscendIE::Tensor& tensor) {
  std::vector<int64_t> shape = util::toVec(tensor.GetDimensions());
  for (int64_t& size : shape) size = std::max<int64_t>(size, size < 0 ? 1 : 0);
  return at::empty_strided(shape, std::vector<int64_t>(shape.size(), 0), util::toScalarType(tensor.GetType()));
}

c10::IValue as_ivalue(const Var& var, const c10::TypePtr& type) {
  if (var.isAscendTensor()) return without_values(*var.getAscendTensor());
  if (!var.isList()) return var.getIValue();
  const c10::TypePtr element = type->kind() == c10::TypeKind::ListType ? type->containedType(0) : c10::AnyType::get();
  if (element->kind() == c10::TypeKind::IntType) return var.unwrapToIntVector();
  c10::impl::GenericList list(element);
  for (const Var& item : var.getList()) list.push_back(as_ivalue(item, element));
  return list;
}

Vars results_of(const Evaluation& evaluation) {
  const Node* const node = evaluation.node;
  if (node->kind() == c10::prim::Constant) {
    const auto value = torch::jit::toIValue(node->output(0));
    return {Var(value.value_or(c10::IValue()))};
  }
  if (has_tensor(evaluation.args)) {
    if (auto sizes = evaluate_sizes(evaluation.ctx, node, evaluation.args)) return *std::move(sizes);
  }
  if (const Evaluator evaluate = evaluator_of(node)) return evaluate(evaluation);
  TORCH_CHECK_NOT_IMPLEMENTED(!has_tensor(evaluation.args),
                              "an argument is not known until the model runs, and this operator has no layer");
  return run(evaluation);
}

}  // namespace

bool has_tensor(const Var& var) { return var.isList() ? has_tensor(var.getList()) : var.isAscendTensor(); }

bool has_tensor(const Vars& vars) {
  return std::any_of(vars.begin(), vars.end(), [](const Var& var) { return has_tensor(var); });
}

Vars run(const Evaluation& evaluation) {
  torch::jit::Stack stack;
  for (size_t i = 0; i < evaluation.args.size(); ++i) {
    stack.push_back(as_ivalue(evaluation[i], evaluation.node->input(i)->type()));
  }
  // Operators of any number of arguments take the number from the stack.
  if (evaluation.node->schema().is_vararg()) stack.emplace_back(static_cast<int64_t>(evaluation.args.size()));
  evaluation.node->getOperation()(stack);
  Vars results;
  for (c10::IValue& value : stack) results.emplace_back(std::move(value));
  return results;
}

bool is_evaluable(const Node* node) {
  if (node->kind() == c10::prim::Constant || node->kind() == c10::prim::ListConstruct ||
      node->kind() == c10::prim::TupleConstruct) {
    return true;
  }
  if (!node->blocks().empty() || node->hasSideEffects() || node->outputs().empty()) return false;
  const c10::FunctionSchema* const schema = node->maybeSchema();
  if (schema && schema->is_mutable()) return false;
  if (evaluator_of(node)) return true;
  return schema && !node->isNondeterministic() && !hold_tensors(node->inputs()) && !hold_tensors(node->outputs());
}

void evaluate(ConversionCtx* ctx, const Node* node, const Vars& args) {
  Vars results = on_behalf_of(node, [&] { return results_of({ctx, node, args}); });
  TORCH_CHECK_VALUE(results.size() == node->outputs().size(), util::nodeInfo(node), ": got ", results.size(),
                    " values for ", node->outputs().size(), " outputs");
  for (size_t i = 0; i < results.size(); ++i) ctx->AssociateValueAndVar(node->output(i), std::move(results[i]));
}

}  // namespace torch_aie::core::conversion
