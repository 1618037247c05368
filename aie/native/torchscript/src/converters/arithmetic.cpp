// converters/arithmetic.cpp: functions of single elements, and of pairs.
#include <c10/util/Exception.h>

#include "converters/by_schema.h"
#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::Attribute;
using AscendIE::Attributes;
using AscendIE::ElementWiseOperation;
using AscendIE::UnaryOperation;
using torch::jit::Node;

struct UnaryRow {
  const char* name;
  UnaryOperation operation;
};

/// (Tensor self) -> Tensor
constexpr UnaryRow kUnary[] = {
    {"aten::abs", UnaryOperation::ABS},           {"aten::acos", UnaryOperation::ACOS},
    {"aten::acosh", UnaryOperation::ACOSH},       {"aten::asin", UnaryOperation::ASIN},
    {"aten::asinh", UnaryOperation::ASINH},       {"aten::atan", UnaryOperation::ATAN},
    {"aten::atanh", UnaryOperation::ATANH},       {"aten::bitwise_not", UnaryOperation::BITWISE_NOT},
    {"aten::ceil", UnaryOperation::CEIL},         {"aten::cos", UnaryOperation::COS},
    {"aten::cosh", UnaryOperation::COSH},         {"aten::erf", UnaryOperation::ERF},
    {"aten::erfc", UnaryOperation::ERFC},         {"aten::exp", UnaryOperation::EXP},
    {"aten::expm1", UnaryOperation::EXPM1},       {"aten::floor", UnaryOperation::FLOOR},
    {"aten::isfinite", UnaryOperation::ISFINITE}, {"aten::isinf", UnaryOperation::ISINF},
    {"aten::isnan", UnaryOperation::ISNAN},       {"aten::log", UnaryOperation::LOG},
    {"aten::log1p", UnaryOperation::LOG1P},       {"aten::log2", UnaryOperation::LOG2},
    {"aten::logical_not", UnaryOperation::NOT},   {"aten::neg", UnaryOperation::NEG},
    {"aten::reciprocal", UnaryOperation::RECIP},  {"aten::round", UnaryOperation::ROUND},
    {"aten::rsqrt", UnaryOperation::RSQRT},       {"aten::sign", UnaryOperation::SIGN},
    {"aten::sin", UnaryOperation::SIN},           {"aten::sinh", UnaryOperation::SINH},
    {"aten::sqrt", UnaryOperation::SQRT},         {"aten::square", UnaryOperation::SQUARE},
    {"aten::tan", UnaryOperation::TAN},           {"aten::trunc", UnaryOperation::TRUNC},
};

struct BinaryRow {
  const char* name;
  ElementWiseOperation operation;
  const char* tensor = ".Tensor";  // the overloads' names
  const char* scalar = ".Scalar";
};

/// (Tensor self, Tensor other) -> Tensor, and (Tensor self, Scalar other) -> Tensor unless `scalar` is null.
constexpr BinaryRow kBinary[] = {
    {"aten::__and__", ElementWiseOperation::BITWISE_AND},
    {"aten::__lshift__", ElementWiseOperation::LEFTSHIFT},
    {"aten::__or__", ElementWiseOperation::BITWISE_OR},
    {"aten::__rshift__", ElementWiseOperation::RIGHTSHIFT},
    {"aten::__xor__", ElementWiseOperation::BITWISE_XOR},
    {"aten::atan2", ElementWiseOperation::ATAN2, "", nullptr},
    {"aten::bitwise_and", ElementWiseOperation::BITWISE_AND},
    {"aten::bitwise_left_shift", ElementWiseOperation::LEFTSHIFT, ".Tensor", ".Tensor_Scalar"},
    {"aten::bitwise_or", ElementWiseOperation::BITWISE_OR},
    {"aten::bitwise_right_shift", ElementWiseOperation::RIGHTSHIFT, ".Tensor", ".Tensor_Scalar"},
    {"aten::bitwise_xor", ElementWiseOperation::BITWISE_XOR},
    {"aten::div", ElementWiseOperation::DIV},
    {"aten::eq", ElementWiseOperation::EQUAL},
    {"aten::floor_divide", ElementWiseOperation::FLOOR_DIV, "", ".Scalar"},
    {"aten::fmod", ElementWiseOperation::FMOD},
    {"aten::ge", ElementWiseOperation::GREATER_EQUAL},
    {"aten::gt", ElementWiseOperation::GREATER},
    {"aten::le", ElementWiseOperation::LESS_EQUAL},
    {"aten::logical_and", ElementWiseOperation::AND, "", nullptr},
    {"aten::logical_or", ElementWiseOperation::OR, "", nullptr},
    {"aten::logical_xor", ElementWiseOperation::XOR, "", nullptr},
    {"aten::lt", ElementWiseOperation::LESS},
    {"aten::max", ElementWiseOperation::MAX, ".other", nullptr},
    {"aten::maximum", ElementWiseOperation::MAX, "", nullptr},
    {"aten::min", ElementWiseOperation::MIN, ".other", nullptr},
    {"aten::minimum", ElementWiseOperation::MIN, "", nullptr},
    {"aten::mul", ElementWiseOperation::MUL},
    {"aten::ne", ElementWiseOperation::NOT_EQUAL},
    {"aten::pow", ElementWiseOperation::POW, ".Tensor_Tensor", ".Tensor_Scalar"},
    {"aten::remainder", ElementWiseOperation::MOD},
};

/// self + alpha * other, self - alpha * other; `swapped`: other - alpha * self.
struct ScaledRow {
  const char* name;
  ElementWiseOperation operation;
  bool swapped = false;
};

constexpr ScaledRow kScaled[] = {
    {"aten::add", ElementWiseOperation::ADD},
    {"aten::rsub", ElementWiseOperation::SUB, true},
    {"aten::sub", ElementWiseOperation::SUB},
};

constexpr SchemaRow kArithmeticSchemas[] = {
    {"aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", "AddCDiv"},
    {"aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", "AddCMul"},
    {"aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", "Clamp"},
    {"aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", "Clamp"},
    {"aten::frac(Tensor self) -> Tensor", "Frac"},
    {"aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", "Lerp"},
    {"aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", "Lerp"},
    {"aten::log10(Tensor self) -> Tensor", "Log10"},
    {"aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", "NanToNum"},
};

bool binary(ConversionCtx* ctx, const Node* node, args& arguments, ElementWiseOperation operation) {
  const auto [a, b] = operands(ctx, arguments[0], arguments[1]);
  return finish(ctx, node, ctx->net->AddElementWise(a, b, operation));
}

bool scaled(ConversionCtx* ctx, const Node* node, args& arguments, const ScaledRow& row) {
  auto [a, b] = operands(ctx, arguments[0], arguments[1]);
  if (row.swapped) std::swap(a, b);
  if (arguments[2].unwrapToDouble() != 1) {
    const auto [x, alpha] = operands(ctx, Var(b), arguments[2]);
    b = ctx->net->AddElementWise(x, alpha, ElementWiseOperation::MUL)->GetOutput(0);
  }
  return finish(ctx, node, ctx->net->AddElementWise(a, b, row.operation));
}

bool divide(ConversionCtx* ctx, const Node* node, args& arguments) {
  if (arguments[2].isNone()) return binary(ctx, node, arguments, ElementWiseOperation::DIV);
  const std::string mode = arguments[2].unwrapToString();
  TORCH_CHECK_VALUE(mode == "floor" || mode == "trunc", "rounding_mode: got '", mode,
                    "', allowed are None, 'floor', 'trunc'");
  return binary(ctx, node, arguments,
                mode == "floor" ? ElementWiseOperation::FLOOR_DIV : ElementWiseOperation::TRUNC_DIV);
}

/// A bound of a clamp, in the layer's attributes: an integer or a real number.
void add_bound(Attributes& attributes, const char* name, const Var& bound) {
  if (bound.isNone()) return;
  const c10::Scalar value = bound.unwrapToScalar();
  attributes[name] = value.isFloatingPoint() ? Attribute(value.toDouble()) : Attribute(value.toLong());
}

/// `low` and `high` are the numbers of the arguments, 0 for none.
Converter clip(size_t low, size_t high) {
  return [low, high](ConversionCtx* ctx, const Node* node, args& arguments) {
    Attributes attributes;
    if (low != 0) add_bound(attributes, "low", arguments.at(low));
    if (high != 0) add_bound(attributes, "high", arguments.at(high));
    return finish(ctx, node, ctx->net->AddOperation("Clip", {tensor(ctx, arguments)}, std::move(attributes)));
  };
}

bool where(ConversionCtx* ctx, const Node* node, args& arguments) {
  const auto [a, b] = operands(ctx, arguments[1], arguments[2]);
  return finish(ctx, node, ctx->net->AddSelect(tensor(ctx, arguments), a, b));
}

bool masked_fill(ConversionCtx* ctx, const Node* node, args& arguments) {
  const auto [x, number] = operands(ctx, arguments[0], arguments[2]);
  AscendIE::Tensor* value = number;
  if (value->GetType() != x->GetType()) value = ctx->net->AddCast(value, x->GetType())->GetOutput(0);
  return finish(ctx, node, ctx->net->AddSelect(tensor(ctx, arguments, 1), value, x));
}

void add_binary(RegisterNodeConverters& all, const BinaryRow& row) {
  const auto converter = [row](ConversionCtx* ctx, const Node* node, args& arguments) {
    return binary(ctx, node, arguments, row.operation);
  };
  const std::string name = row.name;
  const std::string second = name == "aten::pow" ? "exponent" : "other";
  all.pattern(name + row.tensor + "(Tensor self, Tensor " + second + ") -> Tensor", converter);
  if (row.scalar) all.pattern(name + row.scalar + "(Tensor self, Scalar " + second + ") -> Tensor", converter);
}

void add_scaled(RegisterNodeConverters& all, const ScaledRow& row) {
  const auto converter = [row](ConversionCtx* ctx, const Node* node, args& arguments) {
    return scaled(ctx, node, arguments, row);
  };
  const std::string name = row.name;
  all.pattern(name + ".Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", converter);
  all.pattern(name + ".Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", converter);
}

RegisterNodeConverters register_arithmetic() {
  RegisterNodeConverters all;
  for (const UnaryRow& row : kUnary) {
    all.pattern(std::string(row.name) + "(Tensor self) -> Tensor",
                [row](ConversionCtx* ctx, const Node* node, args& arguments) {
                  return finish(ctx, node, ctx->net->AddUnary(tensor(ctx, arguments), row.operation));
                });
  }
  for (const BinaryRow& row : kBinary) add_binary(all, row);
  for (const ScaledRow& row : kScaled) add_scaled(all, row);
  return all;
}

const auto g_arithmetic_rows = register_arithmetic();
const auto g_arithmetic_by_schema = by_schema(kArithmeticSchemas);

const auto g_other_arithmetic =
    RegisterNodeConverters()
        .pattern("aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", divide)
        .pattern("aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", divide)
        .pattern("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clip(1, 2))
        .pattern("aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clip(1, 2))
        .pattern("aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", clip(1, 2))
        .pattern("aten::clamp_min(Tensor self, Scalar min) -> Tensor", clip(1, 0))
        .pattern("aten::clamp_max(Tensor self, Scalar max) -> Tensor", clip(0, 1))
        .pattern("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
                 [](ConversionCtx* ctx, const Node* node, args& arguments) {
                   return binary(ctx, node, arguments, ElementWiseOperation::MAX);
                 })
        .pattern("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
                 [](ConversionCtx* ctx, const Node* node, args& arguments) {
                   return binary(ctx, node, arguments, ElementWiseOperation::MIN);
                 })
        .pattern("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
                 [](ConversionCtx* ctx, const Node* node, args& arguments) {
                   return binary(ctx, node, arguments, ElementWiseOperation::POW);
                 })
        .pattern("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", where)
        .pattern("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", where)
        .pattern("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", where)
        .pattern("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", where)
        .pattern("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", masked_fill)
        .pattern("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", masked_fill);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
