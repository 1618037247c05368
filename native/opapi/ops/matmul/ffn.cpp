// native/opapi/ops/matmul/ffn.cpp
// The feed-forward network of a transformer, for all rows or by experts:
//   y = activation(x W1 + b1) W2 + b2
// Values between the products have the dtype of x.
#include <algorithm>
#include <string_view>

#include "opapi/ops/common/activations.h"
#include "opapi/ops/matmul/grouped_matmul.h"

namespace {

using namespace opwright::opapi::grouped;  // NOLINT: tables only

struct Activation {
  std::string_view name;
  at::Tensor (*apply)(const at::Tensor& values);
  bool gated;  // the first half of the columns times the activation of the second
};

at::Tensor exact_gelu(const at::Tensor& values) { return at::gelu(values); }

constexpr Activation kActivations[] = {
    {"relu", at::relu, false}, {"gelu", exact_gelu, false}, {"fastgelu", fast_gelu, false}, {"silu", at::silu, false},
    {"reglu", at::relu, true}, {"geglu", exact_gelu, true}, {"swiglu", at::silu, true},
};

at::Tensor activate(const at::Tensor& values, const std::string& name) {
  const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](const Activation& activation) { return activation.name == name; });
  require(found != std::end(kActivations), ACLNN_ERR_PARAM_INVALID, "parameter 'activation' is '", name,
          "'; allowed: relu, gelu, fastgelu, silu, reglu, geglu, swiglu");
  if (!found->gated) return found->apply(values);
  const std::vector<at::Tensor> halves = values.chunk(2, -1);
  return halves[0] * found->apply(halves[1]);
}

struct Layer {
  const at::Tensor& weight;
  const OptionalTensor &bias, &deq_scale, &antiquant_scale, &antiquant_offset;
};

struct Requantization {
  const OptionalTensor &scale, &offset;
};

at::Tensor of_expert(const OptionalTensor& tensor, bool experts, int64_t expert) {
  if (!tensor || tensor->numel() == 0) return {};
  return experts ? tensor->select(0, expert) : *tensor;
}

at::Tensor run_layer(const at::Tensor& x, const Layer& layer, bool experts, int64_t expert) {
  return multiply({x,
                   experts ? layer.weight.select(0, expert) : layer.weight,
                   of_expert(layer.bias, experts, expert),
                   of_expert(layer.deq_scale, experts, expert),
                   {},
                   of_expert(layer.antiquant_scale, experts, expert),
                   of_expert(layer.antiquant_offset, experts, expert),
                   {}},
                  at::kFloat);
}

// Integers are scaled in the dtype that `values` have.
at::Tensor between(const at::Tensor& values, at::ScalarType dtype, const Requantization& requantization, bool experts,
                   int64_t expert) {
  if (dtype != at::kChar) return values.to(dtype);
  at::Tensor scale = of_expert(requantization.scale, experts, expert);
  at::Tensor offset = of_expert(requantization.offset, experts, expert);
  require(scale.defined(), ACLNN_ERR_PARAM_INVALID, "parameter 'scale' is missing: int8 products need it between them");
  scale = scale.to(values.scalar_type());
  if (offset.defined()) offset = offset.to(values.scalar_type());
  return to_int8(offset.defined() ? values * scale + offset : values * scale);
}

std::vector<RowGroup> groups_of_tokens(const OptionalTensor& tokens, bool ends, const at::Tensor& rows, bool experts) {
  if (!given(tokens)) {
    require(!experts, ACLNN_ERR_PARAM_INVALID, "parameter 'expertTokens' is missing: the weights are of experts");
    return {{0, rows.size(0)}};
  }
  require(experts, ACLNN_ERR_PARAM_INVALID, "parameter 'expertTokens' needs weights [experts, rows, columns]");
  const GroupList kind = ends ? GroupList::kEnds : GroupList::kSizes;
  const std::vector<RowGroup> groups = row_groups(*tokens, rows.size(0), kind, "expertTokens");
  const int64_t covered = groups.back().end;
  require(covered == rows.size(0), ACLNN_ERR_PARAM_INVALID, "parameter 'expertTokens' counts ", covered, " of the ",
          rows.size(0), " rows");
  return groups;
}

void feed_forward(const at::Tensor& x, const Layer& first, const Layer& second, const Requantization& requantization,
                  const OptionalTensor& tokens, bool ends, const std::string& activation, at::Tensor& y) {
  const at::Tensor rows = x.flatten(0, -2);
  const bool experts = first.weight.dim() == 3;
  const at::Tensor result = at::empty({rows.size(0), y.size(-1)}, y.options());
  for (const RowGroup& group : groups_of_tokens(tokens, ends, rows, experts)) {
    require(!experts || group.expert < first.weight.size(0), ACLNN_ERR_PARAM_INVALID,
            "parameter 'expertTokens' has more entries than there are experts, ", first.weight.size(0));
    if (group.rows() == 0) continue;
    at::Tensor inner = run_layer(rows.slice(0, group.begin, group.end), first, experts, group.expert);
    // For a float16 result the device brings the first product of integers to float16.
    if (x.scalar_type() == at::kChar && y.scalar_type() == at::kHalf) inner = inner.to(at::kHalf);
    inner = activate(inner, activation);
    const at::Tensor input = between(inner, x.scalar_type(), requantization, experts, group.expert);
    result.slice(0, group.begin, group.end).copy_(run_layer(input, second, experts, group.expert));
  }
  assign(y, result.view(y.sizes()));
}

}  // namespace

#define FACTORS (In, x)(In, weight1)(In, weight2)
#define LAYERS_IN                                                                                        \
  (OptIn, bias1)(OptIn, bias2)(OptIn, scale)(OptIn, offset)(OptIn, deqScale1)(OptIn, deqScale2)(         \
      OptIn, antiquantScale1)(OptIn, antiquantScale2)(OptIn, antiquantOffset1)(OptIn, antiquantOffset2)( \
      Text, activation)(Int, innerPrecise)
#define FEED_FORWARD(TOKENS, ENDS)                                                                            \
  feed_forward(x, {weight1, bias1, deqScale1, antiquantScale1, antiquantOffset1},                             \
               {weight2, bias2, deqScale2, antiquantScale2, antiquantOffset2}, {scale, offset}, TOKENS, ENDS, \
               activation, y)

ACLNN(FFN, FACTORS(OptInts, expertTokens) LAYERS_IN(Out, y), FEED_FORWARD(listed(expertTokens), /*ends=*/false))
ACLNN(FFNV2, FACTORS(OptInts, expertTokens) LAYERS_IN(Bool, tokensIndexFlag)(Out, y),
      FEED_FORWARD(listed(expertTokens), tokensIndexFlag))
ACLNN(FFNV3, FACTORS(OptIndex, expertTokensOptional) LAYERS_IN(Bool, tokensIndexFlag)(Out, y),
      FEED_FORWARD(expertTokensOptional, tokensIndexFlag))

#undef FACTORS
#undef LAYERS_IN
#undef FEED_FORWARD
