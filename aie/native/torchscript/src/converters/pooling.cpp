// converters/pooling.cpp: pooling, one row for each kind and rank.
#include <c10/util/Exception.h>

#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::Attributes;
using AscendIE::PaddingMode;
using AscendIE::PoolingKind;
using torch::jit::Node;

constexpr const char* kOptions[] = {"stride", "padding", "dilation"};

/// window, stride (empty: the window), padding, perhaps dilation; then whether sizes are rounded up.
Attributes window(const args& arguments, size_t rank, bool dilated) {
  Attributes attributes{{"window", for_each_dimension(arguments[1], rank)}};
  const size_t options = dilated ? 3 : 2;
  for (size_t i = 0; i < options; ++i) {
    const std::vector<int64_t> list = for_each_dimension(arguments[2 + i], rank);
    if (!list.empty()) attributes[kOptions[i]] = list;
  }
  const auto mode =
      arguments[2 + options].unwrapToBool() ? PaddingMode::EXPLICIT_ROUND_UP : PaddingMode::EXPLICIT_ROUND_DOWN;
  attributes["padding_mode"] = static_cast<int64_t>(mode);
  return attributes;
}

bool add(ConversionCtx* ctx, const Node* node, args& arguments, const char* operation, Attributes attributes) {
  return finish_all(ctx, node, ctx->net->AddOperation(operation, {tensor(ctx, arguments)}, std::move(attributes)));
}

bool max_pool(ConversionCtx* ctx, const Node* node, args& arguments, size_t rank) {
  Attributes attributes = window(arguments, rank, /*dilated=*/true);
  const bool with_indices = node->outputs().size() == 2;
  if (!with_indices) attributes["kind"] = static_cast<int64_t>(PoolingKind::MAX);
  return add(ctx, node, arguments, with_indices ? "MaxPoolingWithIndices" : "Pooling", std::move(attributes));
}

bool average_pool(ConversionCtx* ctx, const Node* node, args& arguments, size_t rank) {
  Attributes attributes = window(arguments, rank, /*dilated=*/false);
  attributes["kind"] = static_cast<int64_t>(PoolingKind::AVERAGE);
  attributes["excludes_padding"] = int64_t{!arguments[5].unwrapToBool()};
  if (arguments.size() > 6 && !arguments[6].isNone()) attributes["divisor"] = arguments[6].unwrapToInt();
  return add(ctx, node, arguments, "Pooling", std::move(attributes));
}

bool adaptive_average_pool(ConversionCtx* ctx, const Node* node, args& arguments, size_t rank) {
  Attributes attributes{{"kind", static_cast<int64_t>(PoolingKind::ADAPTIVE_AVERAGE)},
                        {"out", for_each_dimension(arguments[1], rank)}};
  return add(ctx, node, arguments, "Pooling", std::move(attributes));
}

bool adaptive_max_pool(ConversionCtx* ctx, const Node* node, args& arguments, size_t rank) {
  return add(ctx, node, arguments, "AdaptiveMaxPooling", {{"out", for_each_dimension(arguments[1], rank)}});
}

struct Row {
  const char* schema;
  bool (*convert)(ConversionCtx*, const Node*, args&, size_t rank);
  size_t least_rank = 1;
};

constexpr Row kPoolingRows[] = {
    {"aten::max_pool#d(Tensor self, int[#] kernel_size, int[#] stride=[], int[#] padding=0, int[#] dilation=1, "
     "bool ceil_mode=False) -> Tensor",
     max_pool},
    {"aten::max_pool#d_with_indices(Tensor self, int[#] kernel_size, int[#] stride=[], int[#] padding=0, "
     "int[#] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     max_pool},
    {"aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
     "bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
     average_pool},
    {"aten::avg_pool#d(Tensor self, int[#] kernel_size, int[#] stride=[], int[#] padding=0, bool ceil_mode=False, "
     "bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     average_pool, 2},
    {"aten::adaptive_avg_pool#d(Tensor self, int[#] output_size) -> Tensor", adaptive_average_pool},
    {"aten::adaptive_max_pool#d(Tensor self, int[#] output_size) -> (Tensor, Tensor)", adaptive_max_pool},
};

RegisterNodeConverters register_pooling() {
  RegisterNodeConverters all;
  for (const Row& row : kPoolingRows) {
    const bool any_rank = std::string(row.schema).find('#') != std::string::npos;
    for (size_t rank = row.least_rank; rank <= (any_rank ? 3 : row.least_rank); ++rank) {
      all.pattern(with_rank(row.schema, rank),
                  [convert = row.convert, rank](ConversionCtx* ctx, const Node* node, args& arguments) {
                    return convert(ctx, node, arguments, rank);
                  });
    }
  }
  return all;
}

const auto g_pooling = register_pooling();

}  // namespace

}  // namespace torch_aie::core::conversion::converters
