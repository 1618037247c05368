// converters/shared.cpp
#include "converters/shared.h"

#include <c10/util/Exception.h>

namespace torch_aie::core::conversion::converters {

using AscendIE::Dims;
using torch::jit::Node;

bool permute(ConversionCtx* ctx, const Node* node, AscendIE::Tensor* x, const std::vector<int64_t>& order) {
  AscendIE::PermutationConf permutation;
  permutation.rank = static_cast<int64_t>(order.size());
  TORCH_CHECK_VALUE(permutation.rank <= Dims::MAX_DIMS, "rank ", permutation.rank, ", allowed are at most 8");
  std::copy(order.begin(), order.end(), permutation.order);
  auto* const layer = ctx->net->AddShuffle(x);
  layer->SetFirstTranspose(permutation);
  return finish(ctx, node, layer);
}

bool reshape(ConversionCtx* ctx, const Node* node, AscendIE::Tensor* x, const std::vector<int64_t>& shape) {
  TORCH_CHECK_VALUE(shape.size() <= Dims::MAX_DIMS, "rank ", shape.size(), ", allowed are at most 8");
  auto* const layer = ctx->net->AddShuffle(x);
  layer->SetReshapeDimensions(Dims(shape));
  return finish(ctx, node, layer);
}

}  // namespace torch_aie::core::conversion::converters
