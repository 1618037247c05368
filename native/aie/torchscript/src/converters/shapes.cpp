// converters/shapes.cpp: what changes shapes and moves elements.
#include <c10/util/Exception.h>

#include <numeric>

#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using torch::jit::Node;

bool transpose(ConversionCtx* ctx, const Node* node, args& arguments) {
  AscendIE::Tensor* const x = tensor(ctx, arguments);
  std::vector<int64_t> order(rank(x));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order.at(wrapDim(arguments[1].unwrapToInt(), rank(x))),
            order.at(wrapDim(arguments[2].unwrapToInt(), rank(x))));
  return permute(ctx, node, x, order);
}

bool flatten(ConversionCtx* ctx, const Node* node, args& arguments) {
  AscendIE::Tensor* const x = tensor(ctx, arguments);
  const std::vector<int64_t> sizes = util::toVec(x->GetDimensions());
  if (sizes.empty()) return reshape(ctx, node, x, {1});
  const int64_t first = wrapDim(arguments[1].unwrapToInt(), rank(x));
  const int64_t last = wrapDim(arguments[2].unwrapToInt(), rank(x));
  TORCH_CHECK_VALUE(first <= last, "start_dim ", first, " is behind end_dim ", last);
  std::vector<int64_t> shape(sizes.begin(), sizes.begin() + first);
  shape.push_back(std::accumulate(sizes.begin() + first, sizes.begin() + last + 1, int64_t{1}, std::multiplies<>()));
  shape.insert(shape.end(), sizes.begin() + last + 1, sizes.end());
  return reshape(ctx, node, x, shape);
}

bool unsqueeze(ConversionCtx* ctx, const Node* node, args& arguments) {
  AscendIE::Tensor* const x = tensor(ctx, arguments);
  std::vector<int64_t> shape = util::toVec(x->GetDimensions());
  shape.insert(shape.begin() + wrapDim(arguments[1].unwrapToInt(), rank(x) + 1), 1);
  return reshape(ctx, node, x, shape);
}

bool cat(ConversionCtx* ctx, const Node* node, args& arguments) {
  const std::vector<AscendIE::Tensor*> tensors = arguments[0].getFreezeAscendTensors(ctx);
  TORCH_CHECK_VALUE(!tensors.empty(), "the list of tensors is empty");
  auto* const layer = ctx->net->AddConcatenation(tensors.data(), static_cast<int32_t>(tensors.size()));
  layer->SetAxis(wrapDim(arguments[1].unwrapToInt(), rank(tensors[0])));
  return finish(ctx, node, layer);
}

const auto g_shapes =
    RegisterNodeConverters()
        .pattern("aten::transpose.int(Tensor self, int dim0, int dim1) -> Tensor", transpose)
        .pattern("aten::permute(Tensor self, int[] dims) -> Tensor",
                 [](ConversionCtx* ctx, const Node* node, args& arguments) {
                   return permute(ctx, node, tensor(ctx, arguments), arguments[1].unwrapToIntVector());
                 })
        .pattern("aten::reshape(Tensor self, int[] shape) -> Tensor",
                 [](ConversionCtx* ctx, const Node* node, args& arguments) {
                   return reshape(ctx, node, tensor(ctx, arguments), arguments[1].unwrapToIntVector());
                 })
        .pattern("aten::view(Tensor self, int[] size) -> Tensor",
                 [](ConversionCtx* ctx, const Node* node, args& arguments) {
                   return reshape(ctx, node, tensor(ctx, arguments), arguments[1].unwrapToIntVector());
                 })
        .pattern("aten::flatten.using_ints(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor", flatten)
        .pattern("aten::unsqueeze(Tensor self, int dim) -> Tensor", unsqueeze)
        .pattern("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", cat);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
