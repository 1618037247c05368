// evaluators.cpp: containers and sizes have a row here, every other operator on constants is run by the JIT itself.
#include "evaluators.h"

#include <ATen/core/stack.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <map>
#include <string_view>

#include "core/util/prelude.h"
#include "sizes.h"

namespace torch_aie::core::conversion {

namespace {

using torch::jit::Node;
using Vars = std::vector<Var>;
using Evaluator = Vars (*)(const Node*, const Vars&);

Var constant(c10::IValue value) { return Var(std::move(value)); }

Vars size(const Node* node, const Vars& args) {
  const std::vector<int64_t> sizes = util::toVec(args[0].getAscendTensor()->GetDimensions());
  if (node->inputs().size() == 1) return {constant(sizes)};
  const int64_t dim = args[1].unwrapToInt();
  const auto rank = static_cast<int64_t>(sizes.size());
  TORCH_CHECK_INDEX(dim >= -rank && dim < rank, "dimension ", dim, " is none of ", -rank, " to ", rank - 1);
  return {constant(sizes[dim < 0 ? dim + rank : dim])};
}

Vars rank(const Node* /*node*/, const Vars& args) {
  return {constant(int64_t{args[0].getAscendTensor()->GetDimensions().Size()})};
}

Vars length(const Node* /*node*/, const Vars& args) {
  if (args[0].isList()) return {constant(static_cast<int64_t>(args[0].getList().size()))};
  const AscendIE::Dims dims = args[0].getAscendTensor()->GetDimensions();
  TORCH_CHECK_TYPE(!dims.Empty(), "a tensor without dimensions has no length");
  return {constant(dims[0])};
}

Vars same(const Node* /*node*/, const Vars& args) { return {args[0]}; }
Vars pack(const Node* /*node*/, const Vars& args) { return {Var(args)}; }
Vars unpack(const Node* /*node*/, const Vars& args) { return args[0].getList(); }

// For arguments that are not all constants.
const std::map<std::string_view, Evaluator>& evaluators() {
  static const std::map<std::string_view, Evaluator> table{
      {"aten::size", size},          {"aten::dim", rank},          {"aten::len", length},
      {"prim::ListConstruct", pack}, {"prim::ListUnpack", unpack}, {"prim::TupleConstruct", pack},
      {"prim::TupleUnpack", unpack}, {"prim::NumToTensor", same},  {"aten::Int", same},
  };
  return table;
}

bool holds_tensor(const c10::TypePtr& type) {
  if (type->isSubtypeOf(*c10::TensorType::get())) return true;
  const auto contained = type->containedTypes();
  return std::any_of(contained.begin(), contained.end(), [](const auto& inner) { return holds_tensor(inner); });
}

/// A list of integers among the arguments may have been packed from constants.
c10::IValue as_ivalue(const Var& var, const c10::TypePtr& type) {
  if (!var.isList()) return var.getIValue();
  if (type->kind() == c10::TypeKind::ListType && type->containedType(0)->kind() == c10::TypeKind::IntType) {
    return var.unwrapToIntVector();
  }
  c10::impl::GenericList list(type->kind() == c10::TypeKind::ListType ? type->containedType(0) : c10::AnyType::get());
  for (const Var& element : var.getList()) list.push_back(element.getIValue());
  return list;
}

Vars run(const Node* node, const Vars& args) {
  torch::jit::Stack stack;
  for (size_t i = 0; i < args.size(); ++i) stack.push_back(as_ivalue(args[i], node->input(i)->type()));
  node->getOperation()(stack);
  Vars results;
  for (c10::IValue& value : stack) results.push_back(constant(std::move(value)));
  return results;
}

bool has_tensor(const Var& var) {
  if (!var.isList()) return var.isAscendTensor();
  const auto& list = var.getList();
  return std::any_of(list.begin(), list.end(), has_tensor);
}

Vars results_of(const Node* node, const Vars& args) {
  if (const auto value = torch::jit::toIValue(node->output(0)); value && args.empty()) return {constant(*value)};
  const auto found = evaluators().find(node->kind().toQualString());
  const bool constants = std::none_of(args.begin(), args.end(), has_tensor);
  const bool container = node->kind() == c10::prim::ListConstruct || node->kind() == c10::prim::TupleConstruct ||
                         (!args.empty() && args[0].isList());
  if (found != evaluators().end() && (!constants || container)) return found->second(node, args);
  return run(node, args);
}

}  // namespace

bool is_evaluable(const Node* node) {
  const auto kind = node->kind();
  if (kind == c10::prim::Constant || kind == c10::prim::ListConstruct || kind == c10::prim::TupleConstruct) return true;
  if (!node->blocks().empty() || node->hasSideEffects() || node->outputs().empty()) return false;
  const bool known = evaluators().count(node->kind().toQualString()) > 0;
  bool tensors = false;
  for (const torch::jit::Value* input : node->inputs()) tensors |= holds_tensor(input->type());
  for (const torch::jit::Value* output : node->outputs()) {
    if (holds_tensor(output->type())) return false;
  }
  return known || (!tensors && node->maybeOperator() && !node->isNondeterministic());
}

void evaluate(ConversionCtx* ctx, const Node* node) {
  Vars args;
  for (const torch::jit::Value* input : node->inputs()) {
    const Var* const var = ctx->FindVar(input);
    TORCH_CHECK_VALUE(var, util::nodeInfo(node), ": %", input->debugName(), " has no value");
    args.push_back(*var);
  }
  Vars results;
  try {
    const std::optional<Vars> sizes = evaluate_sizes(ctx, node, args);
    results = sizes ? *sizes : results_of(node, args);
  } catch (const c10::Error& e) {
    TORCH_CHECK_VALUE(false, util::nodeInfo(node), ": ", e.what_without_backtrace());
  }
  TORCH_CHECK_VALUE(results.size() == node->outputs().size(), util::nodeInfo(node), ": got ", results.size(),
                    " values for ", node->outputs().size(), " outputs");
  for (size_t i = 0; i < results.size(); ++i) ctx->AssociateValueAndVar(node->output(i), std::move(results[i]));
}

}  // namespace torch_aie::core::conversion
