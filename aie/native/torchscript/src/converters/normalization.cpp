// converters/normalization.cpp: normalization of layers, groups of channels and single channels.
#include <c10/util/Exception.h>

#include "converters/by_schema.h"
#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using torch::jit::Node;

AscendIE::Tensor* optional_tensor(ConversionCtx* ctx, const Var& var) {
  return var.isNone() ? nullptr : var.getFreezeAscendTensor(ctx);
}

bool layer_norm(ConversionCtx* ctx, const Node* node, args& arguments) {
  AscendIE::Tensor* const x = tensor(ctx, arguments);
  const auto axes = static_cast<int64_t>(arguments[1].unwrapToIntVector().size());
  TORCH_CHECK_VALUE(axes > 0 && axes <= rank(x), "normalized_shape has ", axes, " dimensions, allowed are 1 to ",
                    rank(x));
  const uint32_t mask = ((uint32_t{1} << axes) - 1) << (rank(x) - axes);
  auto* const layer =
      ctx->net->AddNormalization(x, optional_tensor(ctx, arguments[2]), optional_tensor(ctx, arguments[3]), mask);
  layer->SetEpsilon(static_cast<float>(arguments[4].unwrapToDouble()));
  return finish(ctx, node, layer);
}

const auto g_normalization = RegisterNodeConverters().pattern(
    "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-05, bool cudnn_enable=True) -> Tensor",
    layer_norm);

constexpr SchemaRow kNormalizationSchemas[] = {
    {"aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
     "bool cudnn_enabled=True) -> Tensor",
     "GroupNorm"},
    {"aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
     "bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
     "InstanceNorm"},
};

const auto g_normalization_by_schema = by_schema(kNormalizationSchemas);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
