// converters/pooling.cpp: pooling.
#include <c10/util/Exception.h>

#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::Dims;
using AscendIE::PoolingKind;
using torch::jit::Node;

Converter adaptive_pool(size_t rank) {
  return [rank](ConversionCtx* ctx, const Node* node, args& arguments) {
    std::vector<int64_t> out = arguments[1].unwrapToIntVector();
    if (out.size() == 1) out.resize(rank, out[0]);
    return finish(ctx, node,
                  ctx->net->AddPooling(tensor(ctx, arguments), PoolingKind::ADAPTIVE_AVERAGE, Dims(), Dims(out)));
  };
}

const auto g_pooling = RegisterNodeConverters().pattern(
    "aten::adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor", adaptive_pool(2));

}  // namespace

}  // namespace torch_aie::core::conversion::converters
