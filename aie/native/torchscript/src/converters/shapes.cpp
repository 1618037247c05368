// converters/shapes.cpp: what changes shapes and moves elements.
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>

#include "converters/by_schema.h"
#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using torch::jit::Node;

bool permute(ConversionCtx* ctx, const Node* node, AscendIE::Tensor* x, const std::vector<int64_t>& order) {
  constexpr int64_t kMost = AscendIE::Dims::MAX_DIMS;
  AscendIE::PermutationConf permutation;
  permutation.rank = static_cast<int64_t>(order.size());
  TORCH_CHECK_VALUE(permutation.rank <= kMost, "rank ", permutation.rank, ", allowed are at most ", kMost);
  std::copy(order.begin(), order.end(), permutation.order);
  auto* const layer = ctx->net->AddShuffle(x);
  layer->SetFirstTranspose(permutation);
  return finish(ctx, node, layer);
}

bool transpose(ConversionCtx* ctx, const Node* node, AscendIE::Tensor* x, int64_t a, int64_t b) {
  std::vector<int64_t> order(rank(x));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order.at(wrapDim(a, rank(x))), order.at(wrapDim(b, rank(x))));
  return permute(ctx, node, x, order);
}

bool transpose_dimensions(ConversionCtx* ctx, const Node* node, args& arguments) {
  return transpose(ctx, node, tensor(ctx, arguments), arguments[1].unwrapToInt(), arguments[2].unwrapToInt());
}

/// Of tensors of rank 2; a vector stays what it is.
bool transpose_matrix(ConversionCtx* ctx, const Node* node, args& arguments) {
  AscendIE::Tensor* const x = tensor(ctx, arguments);
  TORCH_CHECK_VALUE(rank(x) <= 2, "the tensor has rank ", rank(x), ", allowed are 0 to 2");
  return rank(x) < 2 ? finish(ctx, node, x) : transpose(ctx, node, x, 0, 1);
}

bool reverse_dimensions(ConversionCtx* ctx, const Node* node, args& arguments) {
  AscendIE::Tensor* const x = tensor(ctx, arguments);
  std::vector<int64_t> order(rank(x));
  std::iota(order.rbegin(), order.rend(), 0);
  return permute(ctx, node, x, order);
}

bool permute_dimensions(ConversionCtx* ctx, const Node* node, args& arguments) {
  AscendIE::Tensor* const x = tensor(ctx, arguments);
  std::vector<int64_t> order = arguments[1].unwrapToIntVector();
  for (int64_t& dim : order) dim = wrapDim(dim, rank(x));
  return permute(ctx, node, x, order);
}

bool reshape_to(ConversionCtx* ctx, const Node* node, args& arguments) {
  std::vector<AscendIE::Tensor*> inputs{tensor(ctx, arguments)};
  const std::vector<int64_t> sizes = integers(arguments[1], inputs);
  return finish(ctx, node, ctx->net->AddOperation("Shuffle", inputs, {{"reshape", sizes}}));
}

bool cat(ConversionCtx* ctx, const Node* node, args& arguments) {
  const std::vector<AscendIE::Tensor*> tensors = arguments[0].getFreezeAscendTensors(ctx);
  TORCH_CHECK_VALUE(!tensors.empty(), "the list of tensors is empty");
  auto* const layer = ctx->net->AddConcatenation(tensors.data(), static_cast<int32_t>(tensors.size()));
  layer->SetAxis(wrapDim(arguments[1].unwrapToInt(), rank(tensors[0])));
  return finish(ctx, node, layer);
}

/// For operators that make no difference in an engine.
bool same(ConversionCtx* ctx, const Node* node, args& arguments) { return finish(ctx, node, tensor(ctx, arguments)); }

bool dropout(ConversionCtx* ctx, const Node* node, args& arguments) {
  TORCH_CHECK_VALUE(!arguments[2].unwrapToBool(), "dropout in training: call eval() on the module");
  return same(ctx, node, arguments);
}

const auto g_shapes =
    RegisterNodeConverters()
        .pattern("aten::transpose.int(Tensor self, int dim0, int dim1) -> Tensor", transpose_dimensions)
        .pattern("aten::swapaxes(Tensor self, int axis0, int axis1) -> Tensor", transpose_dimensions)
        .pattern("aten::swapdims(Tensor self, int dim0, int dim1) -> Tensor", transpose_dimensions)
        .pattern("aten::t(Tensor self) -> Tensor", transpose_matrix)
        .pattern("aten::numpy_T(Tensor self) -> Tensor", reverse_dimensions)
        .pattern("aten::permute(Tensor self, int[] dims) -> Tensor", permute_dimensions)
        .pattern("aten::reshape(Tensor self, int[] shape) -> Tensor", reshape_to)
        .pattern("aten::view(Tensor self, int[] size) -> Tensor", reshape_to)
        .pattern("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", cat)
        .pattern("aten::concat(Tensor[] tensors, int dim=0) -> Tensor", cat)
        .pattern("aten::contiguous(Tensor self, *, MemoryFormat memory_format=contiguous_format) -> Tensor", same)
        .pattern("aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", same)
        .pattern("aten::detach(Tensor self) -> Tensor", same)
        .pattern("aten::alias(Tensor self) -> Tensor", same)
        .pattern("aten::lift_fresh(Tensor self) -> Tensor", same)
        .pattern("aten::dropout(Tensor input, float p, bool train) -> Tensor", dropout)
        .pattern("aten::feature_dropout(Tensor input, float p, bool train) -> Tensor", dropout)
        .pattern("aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor", dropout);

constexpr SchemaRow kShapesRows[] = {
    {"aten::chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", "Chunk"},
    {"aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", "Chunk"},
    {"aten::constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor", "PadConstant"},
    {"aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", "CopyInto"},
    {"aten::expand(Tensor self, int[] size, *, bool implicit=False) -> Tensor", "Expand"},
    {"aten::expand_as(Tensor self, Tensor other) -> Tensor", "ExpandAs"},
    {"aten::flatten.using_ints(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor", "Flatten"},
    {"aten::flip(Tensor self, int[] dims) -> Tensor", "Flip"},
    {"aten::meshgrid(Tensor[] tensors) -> Tensor[]", "Meshgrid"},
    {"aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", "Meshgrid"},
    {"aten::movedim.int(Tensor self, int source, int destination) -> Tensor", "MoveDimension"},
    {"aten::movedim.intlist(Tensor self, int[] source, int[] destination) -> Tensor", "MoveDimensions"},
    {"aten::pad(Tensor self, int[] pad, str mode=\"constant\", float? value=None) -> Tensor", "Pad"},
    {"aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", "PixelShuffle"},
    {"aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", "PixelUnshuffle"},
    {"aten::reflection_pad1d(Tensor self, int[2] padding) -> Tensor", "PadReflect"},
    {"aten::reflection_pad2d(Tensor self, int[4] padding) -> Tensor", "PadReflect"},
    {"aten::reflection_pad3d(Tensor self, int[6] padding) -> Tensor", "PadReflect"},
    {"aten::repeat(Tensor self, int[] repeats) -> Tensor", "Repeat"},
    {"aten::repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor",
     "RepeatInterleave"},
    {"aten::replication_pad1d(Tensor self, int[2] padding) -> Tensor", "PadReplicate"},
    {"aten::replication_pad2d(Tensor self, int[4] padding) -> Tensor", "PadReplicate"},
    {"aten::replication_pad3d(Tensor self, int[6] padding) -> Tensor", "PadReplicate"},
    {"aten::reshape_as(Tensor self, Tensor other) -> Tensor", "ReshapeAs"},
    {"aten::roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor", "Roll"},
    {"aten::split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]", "Split"},
    {"aten::split.sizes(Tensor self, int[] split_size, int dim=0) -> Tensor[]", "SplitSizes"},
    {"aten::split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]", "SplitSizes"},
    {"aten::squeeze(Tensor self) -> Tensor", "Squeeze"},
    {"aten::squeeze.dim(Tensor self, int dim) -> Tensor", "SqueezeDimension"},
    {"aten::squeeze.dims(Tensor self, int[] dim) -> Tensor", "Squeeze"},
    {"aten::stack(Tensor[] tensors, int dim=0) -> Tensor", "Stack"},
    {"aten::tensor_split.sections(Tensor self, int sections, int dim=0) -> Tensor[]", "TensorSplit"},
    {"aten::tile(Tensor self, int[] dims) -> Tensor", "Tile"},
    {"aten::tril(Tensor self, int diagonal=0) -> Tensor", "Tril"},
    {"aten::triu(Tensor self, int diagonal=0) -> Tensor", "Triu"},
    {"aten::unbind.int(Tensor self, int dim=0) -> Tensor[]", "Unbind"},
    {"aten::unflatten.int(Tensor self, int dim, int[] sizes) -> Tensor", "Unflatten"},
    {"aten::unsqueeze(Tensor self, int dim) -> Tensor", "Unsqueeze"},
    {"aten::view_as(Tensor self, Tensor other) -> Tensor", "ReshapeAs"},
};

const auto g_shapes_rows = by_schema(kShapesRows);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
