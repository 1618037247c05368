// converters/encoders.cpp: nn.TransformerEncoderLayer as one operator, which PyTorch uses for inference.
#include <c10/util/Exception.h>

#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::Attributes;
using AscendIE::Tensor;
using torch::jit::Node;

/// The arguments of aten::_transformer_encoder_layer_fwd, by their numbers.
enum Argument : size_t {
  kWidth = 1,
  kHeads = 2,
  kQkv = 3,
  kProjection = 5,
  kGelu = 7,
  kNormFirst = 8,
  kEpsilon = 9,
  kNorm1 = 10,
  kNorm2 = 12,
  kUp = 14,
  kDown = 16,
  kMask = 18,
  kMaskType = 19,
};

class Encoder {
 public:
  Encoder(ConversionCtx* ctx, args& arguments) : ctx_(ctx), net_(*ctx->net), arguments_(arguments) {}

  Tensor* run() {
    const bool first = arguments_[kNormFirst].unwrapToBool();
    Tensor* const x = tensor(ctx_, arguments_, 0);
    TORCH_CHECK_VALUE(rank(x) == 3, "the sequence has rank ", rank(x), ", allowed is 3");
    Tensor* y = sum(x, attention(first ? norm(x, kNorm1) : x));
    if (!first) y = norm(y, kNorm1);
    Tensor* const z = sum(y, network(first ? norm(y, kNorm2) : y));
    return first ? z : norm(z, kNorm2);
  }

 private:
  Tensor* sum(Tensor* a, Tensor* b) {
    return net_.AddElementWise(a, b, AscendIE::ElementWiseOperation::ADD)->GetOutput(0);
  }

  /// Weight and bias are the arguments of this number and the next.
  Tensor* linear(Tensor* x, size_t weight) {
    auto* const product = net_.AddMatrixMultiply(x, AscendIE::MatrixOperation::NONE, tensor(ctx_, arguments_, weight),
                                                 AscendIE::MatrixOperation::TRANSPOSE);
    return sum(product->GetOutput(0), tensor(ctx_, arguments_, weight + 1));
  }

  Tensor* norm(Tensor* x, size_t weight) {
    auto* const layer = net_.AddNormalization(x, tensor(ctx_, arguments_, weight), tensor(ctx_, arguments_, weight + 1),
                                              uint32_t{1} << 2);
    layer->SetEpsilon(static_cast<float>(arguments_[kEpsilon].unwrapToDouble()));
    return layer->GetOutput(0);
  }

  Tensor* network(Tensor* x) {
    const auto kind =
        arguments_[kGelu].unwrapToBool() ? AscendIE::ActivationKind::GELU : AscendIE::ActivationKind::RELU;
    return linear(net_.AddActivation(linear(x, kUp), kind)->GetOutput(0), kDown);
  }

  /// (batch, length, width) as (batch, heads, length, width / heads).
  Tensor* heads(Tensor* x, int64_t count) {
    const Attributes sizes{{"dim", int64_t{2}}, {"sizes", std::vector<int64_t>{count, -1}}};
    return exchanged(net_.AddOperation("Unflatten", {x}, sizes)->GetOutput(0));
  }

  Tensor* exchanged(Tensor* x) {
    auto* const layer = net_.AddShuffle(x);
    layer->SetFirstTranspose({4, {0, 2, 1, 3}});
    return layer->GetOutput(0);
  }

  Tensor* attention(Tensor* x) {
    const int64_t width = arguments_[kWidth].unwrapToInt();
    auto* const parts = net_.AddOperation("SplitSizes", {linear(x, kQkv)},
                                          {{"split_sizes", std::vector<int64_t>(3, width)}, {"dim", int64_t{-1}}});
    const int64_t count = arguments_[kHeads].unwrapToInt();
    std::vector<Tensor*> inputs;
    for (uint32_t i = 0; i < 3; ++i) inputs.push_back(heads(parts->GetOutput(i), count));
    if (!arguments_[kMask].isNone()) inputs.push_back(seen());
    Tensor* const all = exchanged(net_.AddOperation("Attention", inputs)->GetOutput(0));
    return linear(net_.AddOperation("Flatten", {all}, {{"start_dim", int64_t{2}}})->GetOutput(0), kProjection);
  }

  /// The mask is true for what is not seen: (length, length), (batch, length) or of rank 4, by its type.
  Tensor* seen() {
    Tensor* mask = tensor(ctx_, arguments_, kMask);
    mask = net_.AddCast(mask, AscendIE::DataType::BOOL)->GetOutput(0);
    mask = net_.AddUnary(mask, AscendIE::UnaryOperation::NOT)->GetOutput(0);
    const bool of_keys = arguments_[kMaskType].unwrapToInt(0) == 1;
    for (const int64_t dim : of_keys ? std::vector<int64_t>{1, 1} : std::vector<int64_t>(4 - rank(mask), 0)) {
      mask = net_.AddOperation("Unsqueeze", {mask}, {{"dim", dim}})->GetOutput(0);
    }
    return mask;
  }

  ConversionCtx* ctx_;
  AscendIE::Network& net_;
  args& arguments_;
};

bool encoder_layer(ConversionCtx* ctx, const Node* node, args& arguments) {
  return finish(ctx, node, Encoder(ctx, arguments).run());
}

const auto g_encoders = RegisterNodeConverters().pattern(
    "aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, "
    "Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, "
    "Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, "
    "Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
    encoder_layer);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
