// conversion/sizes.cpp: a layer for each size that is not fixed, and for each step of arithmetic on one.
#include "conversion/sizes.h"

#include <c10/core/WrapDimMinimal.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "core/util/jit_util.h"
#include "core/util/prelude.h"

namespace torch_aie::core::conversion {

namespace {

using AscendIE::Attributes;
using AscendIE::Tensor;
using torch::jit::Node;
using Vars = std::vector<Var>;
using Results = std::optional<Vars>;
using Evaluator = Results (*)(ConversionCtx*, const Node*, const Vars&);

Var layer(ConversionCtx* ctx, const Node* node, const char* operation, const std::vector<Tensor*>& inputs,
          Attributes attributes) {
  AscendIE::BaseLayer* const added = ctx->net->AddOperation(operation, inputs, std::move(attributes));
  added->SetName(util::nodeInfo(node).c_str());
  return Var(added->GetOutput(0));
}

bool is_whole(const Tensor& tensor) {
  const AscendIE::DataType type = tensor.GetType();
  return type == AscendIE::DataType::INT32 || type == AscendIE::DataType::INT64;
}

/// A number as an operand: a constant is an attribute.
void add_operand(const Var& number, const std::string& name, std::vector<Tensor*>& inputs, Attributes& attributes) {
  if (number.isAscendTensor()) {
    attributes[name + "_input"] = static_cast<int64_t>(inputs.size());
    inputs.push_back(number.getAscendTensor());
    return;
  }
  const c10::Scalar value = number.unwrapToScalar();
  if (value.isFloatingPoint()) {
    attributes[name] = value.toDouble();
  } else {
    attributes[name] = value.toLong();
  }
}

Var compute(ConversionCtx* ctx, const Node* node, const char* function, const Var& a, const Var& b) {
  std::vector<Tensor*> inputs;
  Attributes attributes{{"function", std::string(function)}};
  add_operand(a, "a", inputs, attributes);
  add_operand(b, "b", inputs, attributes);
  return layer(ctx, node, "SizeArithmetic", inputs, std::move(attributes));
}

Var size_of(ConversionCtx* ctx, const Node* node, Tensor* x, int64_t dim) {
  const int64_t size = x->GetDimensions()[static_cast<int32_t>(dim)];
  if (size >= 0) return Var(c10::IValue(size));
  return layer(ctx, node, "Size", {x}, {{"dim", dim}});
}

/// The tensor, if it is one of the network with sizes that are not fixed; otherwise null.
Tensor* not_fixed(const Var& var) {
  Tensor* const x = var.isAscendTensor() ? var.getAscendTensor() : nullptr;
  return x && !x->GetDimensions().Fixed() ? x : nullptr;
}

Results size(ConversionCtx* ctx, const Node* node, const Vars& args) {
  Tensor* const x = not_fixed(args[0]);
  if (!x) return {};
  const int64_t rank = x->GetDimensions().Size();
  if (args.size() > 1) return Vars{size_of(ctx, node, x, c10::maybe_wrap_dim(args[1].unwrapToInt(), rank))};
  Vars sizes;
  for (int64_t i = 0; i < rank; ++i) sizes.push_back(size_of(ctx, node, x, i));
  return Vars{Var(std::move(sizes))};
}

Results length(ConversionCtx* ctx, const Node* node, const Vars& args) {
  Tensor* const x = not_fixed(args[0]);  // a tensor without dimensions is fixed
  if (!x) return {};
  return Vars{size_of(ctx, node, x, 0)};
}

Results count(ConversionCtx* ctx, const Node* node, const Vars& args) {
  Tensor* const x = not_fixed(args[0]);
  if (!x) return {};
  Var product(c10::IValue(int64_t{1}));
  for (int64_t i = 0; i < x->GetDimensions().Size(); ++i) {
    product = compute(ctx, node, "aten::mul", size_of(ctx, node, x, i), product);
  }
  return Vars{product};
}

/// A number that is a tensor of the network already.
Results same(ConversionCtx* ctx, const Node* node, const Vars& args) {
  if (!args[0].isAscendTensor()) return {};
  const bool whole = node->kind() == c10::prim::NumToTensor || node->kind() == c10::aten::ScalarImplicit ||
                     is_whole(*args[0].getAscendTensor());
  return Vars{whole ? args[0] : compute(ctx, node, "aten::Int", args[0], Var(c10::IValue(int64_t{0})))};
}

/// The greatest or least of two numbers, or of a list.
Results extreme(ConversionCtx* ctx, const Node* node, const Vars& args) {
  const Vars numbers = args.size() == 1 && args[0].isList() ? args[0].getList() : args;
  if (std::none_of(numbers.begin(), numbers.end(), [](const Var& one) { return one.isAscendTensor(); })) return {};
  Var result = numbers.at(0);
  for (size_t i = 1; i < numbers.size(); ++i) {
    result = compute(ctx, node, node->kind().toQualString(), result, numbers[i]);
  }
  return Vars{result};
}

Results arithmetic(ConversionCtx* ctx, const Node* node, const Vars& args) {
  const bool numbers = args.size() <= 2 && std::all_of(args.begin(), args.end(), [](const Var& arg) {
                         return arg.isAscendTensor() || (arg.isIValue() && arg.getIValue().isScalar());
                       });
  const bool known = std::none_of(args.begin(), args.end(), [](const Var& arg) { return arg.isAscendTensor(); });
  if (known || !numbers) return {};
  const Var second = args.size() == 2 ? args[1] : Var(c10::IValue(int64_t{0}));
  const bool implicit = node->kind() == c10::aten::FloatImplicit;
  return Vars{compute(ctx, node, implicit ? "aten::Float" : node->kind().toQualString(), args[0], second)};
}

const std::map<std::string_view, Evaluator>& size_evaluators() {
  static const std::map<std::string_view, Evaluator> table{
      {"aten::size", size},
      {"prim::shape", size},
      {"aten::IntImplicit", same},
      {"aten::ScalarImplicit", same},
      {"aten::FloatImplicit", arithmetic},
      {"prim::abs", arithmetic},
      {"aten::len", length},
      {"aten::numel", count},
      {"prim::NumToTensor", same},
      {"aten::Int", same},
      {"prim::max", extreme},
      {"prim::min", extreme},
      {"aten::add", arithmetic},
      {"aten::sub", arithmetic},
      {"aten::mul", arithmetic},
      {"aten::div", arithmetic},
      {"aten::floordiv", arithmetic},
      {"aten::remainder", arithmetic},
      {"aten::pow", arithmetic},
      {"aten::neg", arithmetic},
      {"aten::sqrt", arithmetic},
      {"aten::floor", arithmetic},
      {"aten::ceil", arithmetic},
      {"aten::round", arithmetic},
      {"aten::Float", arithmetic},
      {"aten::Bool", arithmetic},
      {"aten::eq", arithmetic},
      {"aten::ne", arithmetic},
      {"aten::lt", arithmetic},
      {"aten::le", arithmetic},
      {"aten::gt", arithmetic},
      {"aten::ge", arithmetic},
  };
  return table;
}

}  // namespace

std::optional<std::vector<Var>> evaluate_sizes(ConversionCtx* ctx, const Node* node, const std::vector<Var>& args) {
  const auto found = size_evaluators().find(node->kind().toQualString());
  if (found == size_evaluators().end() || args.empty()) return {};
  return found->second(ctx, node, args);
}

}  // namespace torch_aie::core::conversion
