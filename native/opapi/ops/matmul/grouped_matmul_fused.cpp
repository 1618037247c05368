// native/opapi/ops/matmul/grouped_matmul_fused.cpp
// Products of groups of int8 rows, fused with what comes after them. The WeightNz siblings take a weight that is stored
// in blocks; it arrives as the matrices that it is, or as its blocks. What no group covers in the output stays as it
// was.
#include <algorithm>

#include "opapi/ops/common/refusal.h"
#include "opapi/ops/matmul/grouped_matmul.h"

namespace {

using namespace opwright::opapi::grouped;  // NOLINT: tables only

using List = std::vector<at::Tensor>;

// `scale` of each expert; `bias` and `offset` as a 4-bit weight needs them.
struct Factors {
  const at::Tensor &x, &weight, &scale;
  const OptionalTensor &bias, &offset, &per_token_scale;
};

at::Tensor of_expert(const OptionalTensor& tensor, int64_t expert) {
  return tensor && tensor->numel() > 0 ? tensor->select(0, expert) : at::Tensor();
}

// A weight may come as the blocks of its storage, [experts, columns / block, rows / 16, 16, block].
at::Tensor without_blocks(const Factors& factors) {
  const at::Tensor& weight = factors.weight;
  if (weight.dim() != 5) return weight;
  // int32 holds eight values of 4 bits.
  const auto values_in = [](const at::Tensor& tensor) { return tensor.scalar_type() == at::kInt ? 8 : 1; };
  const at::Tensor whole = weight.permute({0, 2, 3, 1, 4}).flatten(3, 4).flatten(1, 2);
  const int64_t rows = factors.x.size(1) * values_in(factors.x);
  const int64_t columns = factors.scale.size(-1) / values_in(weight);
  require(rows <= whole.size(1) && columns <= whole.size(2), ACLNN_ERR_PARAM_INVALID, "parameter 'weight' has shape ",
          weight.sizes(), "; its blocks do not cover the ", rows, " rows and ", columns, " columns of the factors");
  return whole.narrow(1, 0, rows).narrow(2, 0, columns);
}

// Calls compute(group, product) for each group that has rows.
template <class Compute>
void for_each_group(const Factors& factors, const at::Tensor& list, int64_t list_type, const Compute& compute) {
  const at::Tensor weight = without_blocks(factors);
  require(weight.dim() == 3, ACLNN_ERR_PARAM_INVALID, "parameter 'weight' has shape ", weight.sizes(),
          "; it must be [experts, rows, columns]");
  const std::vector<RowGroup> groups =
      row_groups(list, factors.x.size(0), group_list(list_type, GroupList::kPairs), "groupList");
  for (const RowGroup& group : groups) {
    check_expert(group, weight.size(0));
    if (group.rows() == 0) continue;
    const OptionalTensor& tokens = factors.per_token_scale;
    const Product product{factors.x.slice(0, group.begin, group.end),
                          weight.select(0, group.expert),
                          of_expert(factors.bias, group.expert),
                          factors.scale.select(0, group.expert),
                          of_expert(factors.offset, group.expert),
                          {},
                          {},
                          tokens ? tokens->narrow(0, group.begin, group.rows()) : at::Tensor()};
    compute(group, multiply(product, at::kFloat));
  }
}

// The first half of the columns goes through SiLU and gates the second, times what smooths it; the largest of each row
// becomes 127.
void swiglu_quant(const Factors& factors, const OptionalTensor& smooth, const at::Tensor& list, int64_t list_type,
                  at::Tensor& out, at::Tensor& scale_out) {
  for_each_group(factors, list, list_type, [&](const RowGroup& group, const at::Tensor& values) {
    const std::vector<at::Tensor> halves = values.chunk(2, 1);
    at::Tensor gated = at::silu(halves[0]).mul_(halves[1]);
    if (smooth) gated.mul_(smooth->select(0, group.expert));
    const at::Tensor scale = gated.abs().amax(1, /*keepdim=*/true) / 127;
    out.narrow(0, group.begin, group.rows()).copy_(to_int8(gated / scale.masked_fill(scale == 0, 1)));
    scale_out.narrow(0, group.begin, group.rows()).copy_(scale.squeeze(1));
  });
}

// The first version.
void swiglu_quant(const Factors& factors, const OptionalTensor& offset, const at::Tensor& list, at::Tensor& out,
                  at::Tensor& scale_out) {
  refuse({{offset, "offset"}});
  swiglu_quant(factors, kNone, list, 0, out, scale_out);
}

// A list of one tensor for all experts, or of one for each.
at::Tensor of_all_experts(const List& list, const char* name) {
  require(!list.empty() && std::all_of(list.begin(), list.end(), [](const at::Tensor& one) { return one.defined(); }),
          ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is empty or has a null; allowed: tensors");
  return list.size() == 1 ? list[0] : at::stack(list);
}

OptionalTensor of_all_or_none(const List& list, const char* name) {
  return list.empty() ? OptionalTensor() : OptionalTensor(of_all_experts(list, name));
}

// The second version: lists of weights.
void swiglu_quant(const at::Tensor& x, const List& weight, const List& weight_scale, const List& assist,
                  const OptionalTensor& bias, const at::Tensor& x_scale, const OptionalTensor& smooth,
                  const at::Tensor& list, int64_t quant_mode, int64_t list_type, at::Tensor& out,
                  at::Tensor& scale_out) {
  refuse({{bias, "bias"}});
  require(!given(smooth) || smooth->dim() == 1 || smooth->dim() == 2, ACLNN_ERR_PARAM_INVALID,
          "parameter 'smoothScale' has the shape ", smooth ? smooth->sizes() : at::IntArrayRef(),
          "; it must be [experts] or [experts, columns]");
  require(quant_mode == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'quantMode' is ", quant_mode, "; allowed: 0 (by row)");
  const at::Tensor weights = of_all_experts(weight, "weight"), scales = of_all_experts(weight_scale, "weightScale");
  const OptionalTensor added = of_all_or_none(assist, "weightAssistMatrix");
  swiglu_quant({x, weights, scales, added, kNone, x_scale}, given(smooth), list, list_type, out, scale_out);
}

struct Combination {
  const OptionalTensor &shared, &logit, &row_index;
  double shared_weight;
  int64_t shared_offset, dtype;
  bool transpose_x, transpose_weight;
};

void check(const Combination& combination) {
  require(!combination.transpose_x && !combination.transpose_weight, ACLNN_ERR_PARAM_INVALID,
          "parameters 'transposeX1' and 'transposeX2' must be false");
  require(combination.logit && combination.row_index, ACLNN_ERR_PARAM_NULLPTR,
          "parameters 'logit' and 'rowIndex' are needed to bring the rows together");
  require(combination.dtype == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'dtype' is ", combination.dtype,
          "; allowed: 0 (float32)");
}

// Each row of the product goes, times its logit, to the output row that `row_index` names.
void finalize_routing(const Factors& factors, const at::Tensor& list, int64_t list_type, const Combination& combination,
                      at::Tensor& out) {
  check(combination);
  at::Tensor sum = at::zeros(out.sizes(), at::kFloat);
  if (combination.shared) {
    const int64_t rows = combination.shared->size(0), first = combination.shared_offset;
    require(first >= 0 && first + rows <= out.size(0), ACLNN_ERR_PARAM_INVALID, "parameter 'sharedInputOffset' is ",
            first, ": ", rows, " shared rows do not fit into the output's ", out.size(0));
    sum.narrow(0, first, rows).add_(combination.shared->to(at::kFloat), combination.shared_weight);
  }
  for_each_group(factors, list, list_type, [&](const RowGroup& group, const at::Tensor& values) {
    const at::Tensor logit = combination.logit->flatten().narrow(0, group.begin, group.rows());
    const at::Tensor rows = combination.row_index->flatten().narrow(0, group.begin, group.rows());
    sum.index_add_(0, rows, values * logit.to(at::kFloat).unsqueeze(1));
  });
  assign(out, sum);
}

// The later versions, whose weight could have scales and offsets to be brought to the dtype of x.
void finalize_routing(const Factors& factors, const OptionalTensor& antiquant_scale,
                      const OptionalTensor& antiquant_offset, const at::Tensor& list, int64_t list_type,
                      const Combination& combination, at::Tensor& out) {
  refuse({{antiquant_scale, "antiquantScale"}, {antiquant_offset, "antiquantOffset"}});
  finalize_routing(factors, list, list_type, combination, out);
}

}  // namespace

#define FIRST_SWIGLU_QUANT(NAME)                                                                                     \
  ACLNN(NAME,                                                                                                        \
        (In, x)(In, weight)(OptIn, bias)(OptIn, offset)(In, weightScale)(In, xScale)(Index, groupList)(Out, output)( \
            Out, outputScale)(OptOut, outputOffset),                                                                 \
        swiglu_quant({x, weight, weightScale, bias, kNone, xScale}, offset, groupList, output, outputScale))
FIRST_SWIGLU_QUANT(GroupedMatmulSwigluQuant)
FIRST_SWIGLU_QUANT(GroupedMatmulSwigluQuantWeightNZ)
// dequantMode, by column or by group, shows in the shape of the scales.
#define SWIGLU_QUANT(NAME)                                                                                          \
  ACLNN(NAME,                                                                                                       \
        (In, x)(TensorList, weight)(TensorList, weightScale)(OptTensorList, weightAssistMatrix)(OptIn, bias)(       \
            In, xScale)(OptIn, smoothScale)(Index, groupList)(Int, dequantMode)(Int, dequantDtype)(Int, quantMode)( \
            Int, groupListType)(OptInts, tuningConfig)(Out, output)(Out, outputScale),                              \
        swiglu_quant(x, weight, weightScale, weightAssistMatrix, bias, xScale, smoothScale, groupList, quantMode,   \
                     groupListType, output, outputScale))
SWIGLU_QUANT(GroupedMatmulSwigluQuantV2)
SWIGLU_QUANT(GroupedMatmulSwigluQuantWeightNzV2)

#define COMBINATION_PARAMS                                                                                  \
  (Int, dtype)(Float, sharedInputWeight)(Int, sharedInputOffset)(Bool, transposeX1)(Bool, transposeX2)(Int, \
                                                                                                       groupListType)
#define COMBINATION \
  {sharedInput, logit, rowIndex, sharedInputWeight, sharedInputOffset, dtype, transposeX1, transposeX2}
#define FINALIZE(NAME, TUNING)                                                                                   \
  ACLNN(NAME,                                                                                                    \
        (In, x1)(In, x2)(In, scale)(OptIn, bias)(OptIn, offsetOptional)(OptIn, antiquantScaleOptional)(          \
            OptIn, antiquantOffsetOptional)(OptIn, pertokenScaleOptional)(Index, groupList)(OptIn, sharedInput)( \
            OptIn, logit)(OptIndex, rowIndex)COMBINATION_PARAMS TUNING(Out, out),                                \
        finalize_routing({x1, x2, scale, bias, offsetOptional, pertokenScaleOptional}, antiquantScaleOptional,   \
                         antiquantOffsetOptional, groupList, groupListType, COMBINATION, out))
#define TUNING_CONFIG (OptInts, tuningConfigOptional)
FINALIZE(GroupedMatmulFinalizeRoutingV2, )
FINALIZE(GroupedMatmulFinalizeRoutingV3, TUNING_CONFIG)
FINALIZE(GroupedMatmulFinalizeRoutingWeightNzV2, TUNING_CONFIG)
#define FIRST_FINALIZE(NAME)                                                                                          \
  ACLNN(NAME,                                                                                                         \
        (In, x1)(In, x2)(In, scale)(OptIn, bias)(OptIn, pertokenScaleOptional)(Index, groupList)(OptIn, sharedInput)( \
            OptIn, logit)(OptIndex, rowIndex)COMBINATION_PARAMS(Out, out),                                            \
        finalize_routing({x1, x2, scale, bias, kNone, pertokenScaleOptional}, groupList, groupListType, COMBINATION,  \
                         out))
FIRST_FINALIZE(GroupedMatmulFinalizeRouting)
FIRST_FINALIZE(GroupedMatmulFinalizeRoutingWeightNz)

#undef FIRST_SWIGLU_QUANT
#undef SWIGLU_QUANT
#undef COMBINATION_PARAMS
#undef COMBINATION
#undef FINALIZE
#undef FIRST_FINALIZE
#undef TUNING_CONFIG
