// converters/activations.cpp: activation functions.
#include <c10/util/Exception.h>

#include "converters/by_schema.h"
#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::ActivationKind;
using AscendIE::Attributes;
using torch::jit::Node;

bool activation(ConversionCtx* ctx, const Node* node, args& arguments, ActivationKind kind, Attributes attributes) {
  attributes["kind"] = static_cast<int64_t>(kind);
  return finish(ctx, node, ctx->net->AddOperation("Activation", {tensor(ctx, arguments)}, std::move(attributes)));
}

/// Arguments after the first one are numbers, which become the attributes of these names.
struct ActivationRow {
  const char* schema;
  ActivationKind kind;
  std::vector<const char*> attributes = {};
};

const ActivationRow kActivations[] = {
    {"aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
     ActivationKind::ELU,
     {"alpha", "scale", "input_scale"}},
    {"aten::hardsigmoid(Tensor self) -> Tensor", ActivationKind::HARD_SIGMOID},
    {"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", ActivationKind::LEAKY_RELU, {"alpha"}},
    {"aten::mish(Tensor self) -> Tensor", ActivationKind::MISH},
    {"aten::relu(Tensor self) -> Tensor", ActivationKind::RELU},
    {"aten::relu6(Tensor self) -> Tensor", ActivationKind::RELU6},
    {"aten::selu(Tensor self) -> Tensor", ActivationKind::SELU},
    {"aten::sigmoid(Tensor self) -> Tensor", ActivationKind::SIGMOID},
    {"aten::silu(Tensor self) -> Tensor", ActivationKind::SWISH},
    {"aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
     ActivationKind::SOFTPLUS,
     {"beta", "threshold"}},
    {"aten::tanh(Tensor self) -> Tensor", ActivationKind::TANH},
};

constexpr SchemaRow kActivationsSchemas[] = {
    {"aten::celu(Tensor self, Scalar alpha=1.0) -> Tensor", "Celu"},
    {"aten::glu(Tensor self, int dim=-1) -> Tensor", "Glu"},
    {"aten::hardswish(Tensor self) -> Tensor", "HardSwish"},
    {"aten::log_sigmoid(Tensor self) -> Tensor", "LogSigmoid"},
    {"aten::prelu(Tensor self, Tensor weight) -> Tensor", "PRelu"},
    {"aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", "Threshold"},
};

bool gelu(ConversionCtx* ctx, const Node* node, args& arguments) {
  const std::string approximate = arguments[1].unwrapToString();
  TORCH_CHECK_VALUE(approximate == "none" || approximate == "tanh", "approximate: got '", approximate,
                    "', allowed are 'none', 'tanh'");
  return activation(ctx, node, arguments, ActivationKind::GELU, {{"tanh", int64_t{approximate == "tanh"}}});
}

RegisterNodeConverters register_activations() {
  RegisterNodeConverters all;
  for (const ActivationRow& row : kActivations) {
    all.pattern(row.schema, [row](ConversionCtx* ctx, const Node* node, args& arguments) {
      Attributes attributes;
      for (size_t i = 0; i < row.attributes.size(); ++i) {
        attributes[row.attributes[i]] = arguments.at(i + 1).unwrapToDouble();
      }
      return activation(ctx, node, arguments, row.kind, std::move(attributes));
    });
  }
  all.pattern("aten::gelu(Tensor self, *, str approximate='none') -> Tensor", gelu);
  return all;
}

const auto g_activations_rows = register_activations();
const auto g_activations_by_schema = by_schema(kActivationsSchemas);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
