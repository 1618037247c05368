// converters/elementwise.cpp: unary and binary operators and activations, one row each.
#include "core/conversion/converters/converter_util.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::ActivationKind;
using AscendIE::ElementWiseOperation;
using AscendIE::UnaryOperation;
using torch::jit::Node;

struct UnaryRow {
  const char* schema;
  UnaryOperation operation;
};

constexpr UnaryRow kUnary[] = {
    {"aten::abs(Tensor self) -> Tensor", UnaryOperation::ABS},
    {"aten::acos(Tensor self) -> Tensor", UnaryOperation::ACOS},
    {"aten::asin(Tensor self) -> Tensor", UnaryOperation::ASIN},
    {"aten::atan(Tensor self) -> Tensor", UnaryOperation::ATAN},
    {"aten::ceil(Tensor self) -> Tensor", UnaryOperation::CEIL},
    {"aten::cos(Tensor self) -> Tensor", UnaryOperation::COS},
    {"aten::cosh(Tensor self) -> Tensor", UnaryOperation::COSH},
    {"aten::erf(Tensor self) -> Tensor", UnaryOperation::ERF},
    {"aten::exp(Tensor self) -> Tensor", UnaryOperation::EXP},
    {"aten::floor(Tensor self) -> Tensor", UnaryOperation::FLOOR},
    {"aten::log(Tensor self) -> Tensor", UnaryOperation::LOG},
    {"aten::logical_not(Tensor self) -> Tensor", UnaryOperation::NOT},
    {"aten::neg(Tensor self) -> Tensor", UnaryOperation::NEG},
    {"aten::reciprocal(Tensor self) -> Tensor", UnaryOperation::RECIP},
    {"aten::round(Tensor self) -> Tensor", UnaryOperation::ROUND},
    {"aten::rsqrt(Tensor self) -> Tensor", UnaryOperation::RSQRT},
    {"aten::sign(Tensor self) -> Tensor", UnaryOperation::SIGN},
    {"aten::sin(Tensor self) -> Tensor", UnaryOperation::SIN},
    {"aten::sinh(Tensor self) -> Tensor", UnaryOperation::SINH},
    {"aten::sqrt(Tensor self) -> Tensor", UnaryOperation::SQRT},
    {"aten::tan(Tensor self) -> Tensor", UnaryOperation::TAN},
};

struct ActivationRow {
  const char* schema;
  ActivationKind kind;
};

constexpr ActivationRow kActivations[] = {
    {"aten::mish(Tensor self) -> Tensor", ActivationKind::MISH},
    {"aten::relu(Tensor self) -> Tensor", ActivationKind::RELU},
    {"aten::relu6(Tensor self) -> Tensor", ActivationKind::RELU6},
    {"aten::selu(Tensor self) -> Tensor", ActivationKind::SELU},
    {"aten::sigmoid(Tensor self) -> Tensor", ActivationKind::SIGMOID},
    {"aten::silu(Tensor self) -> Tensor", ActivationKind::SWISH},
    {"aten::tanh(Tensor self) -> Tensor", ActivationKind::TANH},
};

struct BinaryRow {
  const char* schema;
  ElementWiseOperation operation;
};

constexpr BinaryRow kBinary[] = {
    {"aten::div.Scalar(Tensor self, Scalar other) -> Tensor", ElementWiseOperation::DIV},
    {"aten::div.Tensor(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::DIV},
    {"aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", ElementWiseOperation::EQUAL},
    {"aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::EQUAL},
    {"aten::floor_divide(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::FLOOR_DIV},
    {"aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", ElementWiseOperation::GREATER_EQUAL},
    {"aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::GREATER_EQUAL},
    {"aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", ElementWiseOperation::GREATER},
    {"aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::GREATER},
    {"aten::le.Scalar(Tensor self, Scalar other) -> Tensor", ElementWiseOperation::LESS_EQUAL},
    {"aten::le.Tensor(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::LESS_EQUAL},
    {"aten::logical_and(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::AND},
    {"aten::logical_or(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::OR},
    {"aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", ElementWiseOperation::LESS},
    {"aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::LESS},
    {"aten::maximum(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::MAX},
    {"aten::minimum(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::MIN},
    {"aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", ElementWiseOperation::MUL},
    {"aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::MUL},
    {"aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", ElementWiseOperation::NOT_EQUAL},
    {"aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", ElementWiseOperation::NOT_EQUAL},
    {"aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", ElementWiseOperation::POW},
    {"aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", ElementWiseOperation::POW},
};

/// self + alpha * other, self - alpha * other.
constexpr BinaryRow kScaled[] = {
    {"aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", ElementWiseOperation::ADD},
    {"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", ElementWiseOperation::ADD},
    {"aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", ElementWiseOperation::SUB},
    {"aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", ElementWiseOperation::SUB},
};

bool scaled(ConversionCtx* ctx, const Node* node, args& arguments, ElementWiseOperation operation) {
  auto [a, b] = operands(ctx, arguments[0], arguments[1]);
  if (arguments[2].unwrapToDouble() != 1) {
    const auto [x, alpha] = operands(ctx, Var(b), arguments[2]);
    b = ctx->net->AddElementWise(x, alpha, ElementWiseOperation::MUL)->GetOutput(0);
  }
  return finish(ctx, node, ctx->net->AddElementWise(a, b, operation));
}

RegisterNodeConverters rows() {
  RegisterNodeConverters all;
  for (const UnaryRow& row : kUnary) {
    all.pattern(row.schema, [row](ConversionCtx* ctx, const Node* node, args& arguments) {
      return finish(ctx, node, ctx->net->AddUnary(arguments[0].getFreezeAscendTensor(ctx), row.operation));
    });
  }
  for (const ActivationRow& row : kActivations) {
    all.pattern(row.schema, [row](ConversionCtx* ctx, const Node* node, args& arguments) {
      return finish(ctx, node, ctx->net->AddActivation(arguments[0].getFreezeAscendTensor(ctx), row.kind));
    });
  }
  for (const BinaryRow& row : kBinary) {
    all.pattern(row.schema, [row](ConversionCtx* ctx, const Node* node, args& arguments) {
      const auto [a, b] = operands(ctx, arguments[0], arguments[1]);
      return finish(ctx, node, ctx->net->AddElementWise(a, b, row.operation));
    });
  }
  for (const BinaryRow& row : kScaled) {
    all.pattern(row.schema, [row](ConversionCtx* ctx, const Node* node, args& arguments) {
      return scaled(ctx, node, arguments, row.operation);
    });
  }
  return all;
}

const auto g_rows = rows();

}  // namespace

}  // namespace torch_aie::core::conversion::converters
