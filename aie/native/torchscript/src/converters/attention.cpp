// converters/attention.cpp: attention as one function.
#include <c10/util/Exception.h>

#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using torch::jit::Node;

bool attention(ConversionCtx* ctx, const Node* node, args& arguments) {
  TORCH_CHECK_VALUE(arguments[4].unwrapToDouble() == 0, "dropout_p is ", arguments[4].unwrapToDouble(),
                    ", allowed is 0: engines do not drop");
  std::vector<AscendIE::Tensor*> inputs{tensor(ctx, arguments, 0), tensor(ctx, arguments, 1),
                                        tensor(ctx, arguments, 2)};
  if (!arguments[3].isNone()) inputs.push_back(tensor(ctx, arguments, 3));
  AscendIE::Attributes attributes{{"causal", int64_t{arguments[5].unwrapToBool()}},
                                  {"grouped", int64_t{arguments[7].unwrapToBool()}}};
  if (!arguments[6].isNone()) attributes["factor"] = arguments[6].unwrapToDouble();
  return finish(ctx, node, ctx->net->AddOperation("Attention", inputs, std::move(attributes)));
}

const auto g_attention = RegisterNodeConverters().pattern(
    "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    attention);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
