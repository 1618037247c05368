// converters/convolutions.cpp: convolutions.
#include <c10/util/Exception.h>

#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::Dims;
using torch::jit::Node;

bool convolution(ConversionCtx* ctx, const Node* node, args& arguments, size_t groups) {
  const at::Tensor weight = arguments[1].unwrapToAtTensor();
  TORCH_CHECK_VALUE(weight.dim() >= 3, "the weight has rank ", weight.dim(), ", allowed are 3 and more");
  const Weights values(ctx, weight);
  const Weights bias = arguments[2].isNone() ? Weights() : Weights(ctx, arguments[2].unwrapToAtTensor());
  auto* const layer = ctx->net->AddConvolution(tensor(ctx, arguments), static_cast<int32_t>(weight.size(0)),
                                               util::toDims(weight.sizes().slice(2)), values.data, bias.data);
  const auto dims = [&](size_t i) {
    std::vector<int64_t> list = arguments[i].unwrapToIntVector();
    if (list.size() == 1) list.resize(weight.dim() - 2, list[0]);
    return Dims(list);
  };
  layer->SetGroupNum(arguments[groups].unwrapToInt());
  layer->SetStrides(dims(3));
  layer->SetPaddings(dims(4));
  layer->SetDilations(dims(5));
  return finish(ctx, node, layer);
}

bool plain_convolution(ConversionCtx* ctx, const Node* node, args& arguments) {
  return convolution(ctx, node, arguments, 6);
}

/// What tracing gives for every convolution, transposed ones too.
bool general_convolution(ConversionCtx* ctx, const Node* node, args& arguments) {
  TORCH_CHECK_VALUE(!arguments[6].unwrapToBool(),
                    "transposed convolutions are not supported yet: put aten::_convolution into torch_executed_ops");
  return convolution(ctx, node, arguments, 8);
}

const auto g_convolutions =
    RegisterNodeConverters()
        .pattern(
            "aten::_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
            "int[] dilation, bool transposed, int[] output_padding, int groups, bool benchmark, "
            "bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
            general_convolution)
        .pattern(
            "aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, "
            "int[1] dilation=1, int groups=1) -> Tensor",
            plain_convolution)
        .pattern(
            "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, "
            "int[2] dilation=1, int groups=1) -> Tensor",
            plain_convolution);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
