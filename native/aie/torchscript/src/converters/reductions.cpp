// converters/reductions.cpp: reductions, softmax and sums along a dimension.
#include <c10/util/Exception.h>

#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::ReduceOperation;
using torch::jit::Node;

bool cumsum(ConversionCtx* ctx, const Node* node, args& arguments) {
  AscendIE::Tensor* x = tensor(ctx, arguments);
  const int64_t dim = wrapDim(arguments[1].unwrapToInt(), rank(x));
  if (!arguments[2].isNone()) {
    const auto type = static_cast<c10::ScalarType>(arguments[2].unwrapToInt());
    x = ctx->net->AddCast(x, util::toDataType(type))->GetOutput(0);
  }
  return finish(ctx, node, ctx->net->AddCumsum(x, dim));
}

bool softmax(ConversionCtx* ctx, const Node* node, args& arguments) {
  AscendIE::Tensor* x = tensor(ctx, arguments);
  const int64_t dim = wrapDim(arguments[1].unwrapToInt(), rank(x));
  if (!arguments[2].isNone()) {
    const auto type = static_cast<c10::ScalarType>(arguments[2].unwrapToInt());
    x = ctx->net->AddCast(x, util::toDataType(type))->GetOutput(0);
  }
  auto* const layer = ctx->net->AddSoftMax(x);
  layer->SetAxes(1U << dim);
  return finish(ctx, node, layer);
}

Converter reduction(ReduceOperation operation) {
  return [operation](ConversionCtx* ctx, const Node* node, args& arguments) {
    if (!arguments[3].isNone()) return false;
    const std::vector<int64_t> axes = arguments[1].isNone() ? std::vector<int64_t>() : arguments[1].unwrapToIntVector();
    return finish(ctx, node, ctx->net->AddReduce(tensor(ctx, arguments), operation, axes, arguments[2].unwrapToBool()));
  };
}

const auto g_reductions =
    RegisterNodeConverters()
        .pattern("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", cumsum)
        .pattern("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", softmax)
        .pattern("aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
                 reduction(ReduceOperation::AVG))
        .pattern(
            "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
            "ScalarType? dtype=None) -> Tensor",
            reduction(ReduceOperation::SUM));

}  // namespace

}  // namespace torch_aie::core::conversion::converters
