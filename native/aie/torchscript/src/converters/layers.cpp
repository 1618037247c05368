// converters/layers.cpp: reductions, softmax, products, convolution, pooling and what changes shapes.
#include <c10/util/Exception.h>

#include <numeric>

#include "core/conversion/converters/converter_util.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::Dims;
using AscendIE::MatrixOperation;
using AscendIE::PoolingKind;
using AscendIE::ReduceOperation;
using torch::jit::Node;

AscendIE::Tensor* tensor(ConversionCtx* ctx, args& arguments, size_t i = 0) {
  return arguments.at(i).getFreezeAscendTensor(ctx);
}

int64_t rank(const AscendIE::Tensor* x) { return x->GetDimensions().Size(); }

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

bool matmul(ConversionCtx* ctx, const Node* node, args& arguments) {
  return finish(ctx, node,
                ctx->net->AddMatrixMultiply(tensor(ctx, arguments, 0), MatrixOperation::NONE, tensor(ctx, arguments, 1),
                                            MatrixOperation::NONE));
}

bool linear(ConversionCtx* ctx, const Node* node, args& arguments) {
  auto* const product = ctx->net->AddMatrixMultiply(tensor(ctx, arguments, 0), MatrixOperation::NONE,
                                                    tensor(ctx, arguments, 1), MatrixOperation::TRANSPOSE);
  if (arguments[2].isNone()) return finish(ctx, node, product);
  return finish(
      ctx, node,
      ctx->net->AddElementWise(product->GetOutput(0), tensor(ctx, arguments, 2), AscendIE::ElementWiseOperation::ADD));
}

bool permute(ConversionCtx* ctx, const Node* node, AscendIE::Tensor* x, const std::vector<int64_t>& order) {
  AscendIE::PermutationConf permutation;
  permutation.rank = static_cast<int64_t>(order.size());
  TORCH_CHECK_VALUE(permutation.rank <= Dims::MAX_DIMS, "rank ", permutation.rank, ", allowed are at most 8");
  std::copy(order.begin(), order.end(), permutation.order);
  auto* const layer = ctx->net->AddShuffle(x);
  layer->SetFirstTranspose(permutation);
  return finish(ctx, node, layer);
}

bool transpose(ConversionCtx* ctx, const Node* node, args& arguments) {
  AscendIE::Tensor* const x = tensor(ctx, arguments);
  std::vector<int64_t> order(rank(x));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order.at(wrapDim(arguments[1].unwrapToInt(), rank(x))),
            order.at(wrapDim(arguments[2].unwrapToInt(), rank(x))));
  return permute(ctx, node, x, order);
}

bool reshape(ConversionCtx* ctx, const Node* node, AscendIE::Tensor* x, const std::vector<int64_t>& shape) {
  auto* const layer = ctx->net->AddShuffle(x);
  layer->SetReshapeDimensions(Dims(shape));
  return finish(ctx, node, layer);
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

Converter reduction(ReduceOperation operation) {
  return [operation](ConversionCtx* ctx, const Node* node, args& arguments) {
    if (!arguments[3].isNone()) return false;
    const std::vector<int64_t> axes = arguments[1].isNone() ? std::vector<int64_t>() : arguments[1].unwrapToIntVector();
    return finish(ctx, node, ctx->net->AddReduce(tensor(ctx, arguments), operation, axes, arguments[2].unwrapToBool()));
  };
}

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

Converter adaptive_pool(size_t rank) {
  return [rank](ConversionCtx* ctx, const Node* node, args& arguments) {
    std::vector<int64_t> out = arguments[1].unwrapToIntVector();
    if (out.size() == 1) out.resize(rank, out[0]);
    return finish(ctx, node,
                  ctx->net->AddPooling(tensor(ctx, arguments), PoolingKind::ADAPTIVE_AVERAGE, Dims(), Dims(out)));
  };
}

const auto g_layers =
    RegisterNodeConverters()
        .pattern("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", cumsum)
        .pattern("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", softmax)
        .pattern("aten::matmul(Tensor self, Tensor other) -> Tensor", matmul)
        .pattern("aten::mm(Tensor self, Tensor mat2) -> Tensor", matmul)
        .pattern("aten::bmm(Tensor self, Tensor mat2) -> Tensor", matmul)
        .pattern("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", linear)
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
        .pattern("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", cat)
        .pattern("aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
                 reduction(ReduceOperation::AVG))
        .pattern(
            "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
            "ScalarType? dtype=None) -> Tensor",
            reduction(ReduceOperation::SUM))
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
            plain_convolution)
        .pattern("aten::adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor", adaptive_pool(2));

}  // namespace

}  // namespace torch_aie::core::conversion::converters
