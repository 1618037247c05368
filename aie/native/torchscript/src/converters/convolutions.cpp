// converters/convolutions.cpp: convolutions and batch normalization.
#include <ATen/TensorOperators.h>
#include <ATen/ops/rsqrt.h>
#include <c10/util/Exception.h>

#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::Attributes;
using torch::jit::Node;
using Sizes = std::vector<int64_t>;

/// Numbers of the arguments behind input, weight and bias; 0: there is none.
struct Order {
  size_t stride = 3, padding = 4, dilation = 5, groups = 6;
  size_t transposed = 0, output_padding = 0;
};

constexpr Order kPlain;
constexpr Order kTransposed{3, 4, 7, 6, 0, 5};
constexpr Order kGeneral{3, 4, 5, 8, 6, 7};

/// Before the first and behind the last element; PyTorch pads one more behind where the sum is odd.
Sizes same_padding(const Sizes& kernel, const Sizes& dilation) {
  Sizes padding;
  for (size_t i = 0; i < kernel.size(); ++i) padding.push_back(dilation[i] * (kernel[i] - 1));
  return padding;
}

bool convolution(ConversionCtx* ctx, const Node* node, args& arguments, const Order& order, bool is_transposed) {
  AscendIE::Tensor* x = tensor(ctx, arguments);
  std::vector<AscendIE::Tensor*> inputs{x, tensor(ctx, arguments, 1)};
  if (!arguments[2].isNone()) inputs.push_back(tensor(ctx, arguments, 2));
  const Sizes weight = util::toVec(inputs[1]->GetDimensions());
  TORCH_CHECK_VALUE(weight.size() >= 3, "the weight has rank ", weight.size(), ", allowed are 3 and more");
  const Sizes kernel(weight.begin() + 2, weight.end());
  const auto dims = [&](size_t i) { return for_each_dimension(arguments[i], kernel.size()); };
  const bool transposed = is_transposed || (order.transposed && arguments[order.transposed].unwrapToBool());
  const int64_t groups = arguments[order.groups].unwrapToInt();
  Attributes attributes{{"maps", transposed ? weight[1] * groups : weight[0]},
                        {"kernel", kernel},
                        {"groups", groups},
                        {"strides", dims(order.stride)},
                        {"dilations", dims(order.dilation)}};
  const c10::IValue* const named =
      arguments[order.padding].isIValue() ? &arguments[order.padding].getIValue() : nullptr;
  if (named && named->isString()) {
    const std::string name = named->toStringRef();
    TORCH_CHECK_VALUE(name == "same" || name == "valid", "padding: got '", name, "', allowed are 'same', 'valid'");
    const Sizes sums = same_padding(kernel, dims(order.dilation));
    Sizes halves(kernel.size(), 0);
    for (size_t i = 0; i < sums.size() && name == "same"; ++i) {
      TORCH_CHECK_VALUE(sums[i] % 2 == 0, "padding 'same' of a kernel of size ", kernel[i],
                        ": allowed are sizes that pad both sides alike");
      halves[i] = sums[i] / 2;
    }
    attributes["paddings"] = halves;
  } else {
    attributes["paddings"] = dims(order.padding);
  }
  if (transposed) {
    attributes["transposed"] = int64_t{1};
    attributes["output_paddings"] = dims(order.output_padding);
  }
  return finish(ctx, node, ctx->net->AddOperation("Convolution", inputs, std::move(attributes)));
}

Converter converter(const Order& order, bool transposed = false) {
  return [order, transposed](ConversionCtx* ctx, const Node* node, args& arguments) {
    return convolution(ctx, node, arguments, order, transposed);
  };
}

AscendIE::WeightsBuf buffer(const at::Tensor& values) {
  return {util::toDataType(values.scalar_type()), values.const_data_ptr(), static_cast<uint64_t>(values.numel())};
}

/// In evaluation: x * scale + shift.
bool batch_norm(ConversionCtx* ctx, const Node* node, args& arguments) {
  TORCH_CHECK_VALUE(!arguments[5].unwrapToBool() && !arguments[3].isNone() && !arguments[4].isNone(),
                    "batch normalization in training, allowed is with running statistics: call eval()");
  const at::Tensor mean = arguments[3].unwrapToAtTensor();
  at::Tensor scale = at::rsqrt(arguments[4].unwrapToAtTensor() + arguments[7].unwrapToDouble());
  if (!arguments[1].isNone()) scale = scale * arguments[1].unwrapToAtTensor();
  at::Tensor shift = -mean * scale;
  if (!arguments[2].isNone()) shift = shift + arguments[2].unwrapToAtTensor();
  scale = scale.contiguous();
  shift = shift.contiguous();
  return finish(ctx, node,
                ctx->net->AddScaleNd(tensor(ctx, arguments), AscendIE::ScaleMode::KCHANNEL, buffer(shift),
                                     buffer(scale), /*channelAxis=*/1));
}

constexpr const char* kPlainSchema =
    "aten::conv#d(Tensor input, Tensor weight, Tensor? bias=None, int[#] stride=1, int[#] padding=0, "
    "int[#] dilation=1, int groups=1) -> Tensor";
constexpr const char* kNamedSchema =
    "aten::conv#d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[#] stride=1, str padding=\"valid\", "
    "int[#] dilation=1, int groups=1) -> Tensor";
// PyTorch names two of these overloads after their last argument.
constexpr const char* kTransposedNames[] = {"aten::conv_transpose1d", "aten::conv_transpose2d.input",
                                            "aten::conv_transpose3d.input"};
constexpr const char* kTransposedArguments =
    "(Tensor input, Tensor weight, Tensor? bias=None, int[#] stride=1, int[#] padding=0, "
    "int[#] output_padding=0, int groups=1, int[#] dilation=1) -> Tensor";

RegisterNodeConverters register_convolutions() {
  RegisterNodeConverters all;
  for (size_t rank = 1; rank <= 3; ++rank) {
    all.pattern(with_rank(kPlainSchema, rank), converter(kPlain));
    all.pattern(with_rank(kNamedSchema, rank), converter(kPlain));
    all.pattern(kTransposedNames[rank - 1] + with_rank(kTransposedArguments, rank), converter(kTransposed, true));
  }
  all.pattern(
      "aten::convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
      "bool transposed, int[] output_padding, int groups) -> Tensor",
      converter(kGeneral));
  // Tracing gives the first for every convolution, transposed ones too. The second is its form without allow_tf32,
  // which models of older versions hold.
  for (const char* const schema : {
           "aten::_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
           "bool transposed, int[] output_padding, int groups, bool benchmark, bool deterministic, "
           "bool cudnn_enabled, bool allow_tf32) -> Tensor",
           "aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
           "int[] dilation, bool transposed, int[] output_padding, int groups, bool benchmark, bool deterministic, "
           "bool cudnn_enabled) -> Tensor",
       }) {
    all.pattern(schema, converter(kGeneral));
  }
  all.pattern(
      "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
      "bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
      batch_norm);
  return all;
}

const auto g_convolutions = register_convolutions();

}  // namespace

}  // namespace torch_aie::core::conversion::converters
