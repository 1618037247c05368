// native/opapi/ops/matmul/quant_grouped_matmul.cpp
// Products of quantized matrices for groups: of rows of x, each with its own weight, or of the summed dimension.
#include "opapi/ops/common/group_rows.h"
#include "opapi/ops/matmul/quant_matmul.h"

namespace {

void quant_grouped_matmul_dequant(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& weight_scale,
                                  const at::Tensor& list, DequantOperands operands, at::Tensor& out) {
  at::Tensor result = at::zeros(out.sizes(), at::kDouble);
  const OptionalTensor all_scales = given(operands.x_scale), bias = given(operands.bias);
  for (const RowGroup& group : row_groups(list, x.size(0), GroupList::kEnds, "groupList")) {
    if (group.rows() == 0) continue;
    if (all_scales && all_scales->numel() > 1) {
      operands.x_scale = all_scales->flatten().slice(0, group.begin, group.end);
    }
    if (bias) operands.bias = bias->select(0, group.expert);
    result.slice(0, group.begin, group.end)
        .copy_(quantized_product(x.slice(0, group.begin, group.end), weight.select(0, group.expert),
                                 weight_scale.select(0, group.expert), operands));
  }
  assign(out, result);
}

// x1 [k, m] and x2 [k, n] in groups along k; each adds its product to its own matrix. The scales of microscaling begin
// at the whole pairs of blocks before the group plus the groups before it.
void quant_grouped_matmul_inplace_add(const at::Tensor& x1, const at::Tensor& x2, const OptionalTensor& scale1,
                                      const at::Tensor& scale2, const at::Tensor& list, at::Tensor& y,
                                      int64_t list_type, int64_t group_size) {
  const int64_t k = x2.size(0);
  require(x1.dim() == 2 && x1.size(0) == k && y.dim() == 3 && y.size(0) == list.numel(), ACLNN_ERR_PARAM_INVALID,
          "x1 has shape ", x1.sizes(), ", x2 ", x2.sizes(), " and yRef ", y.sizes(), " for ", list.numel(), " groups");
  const bool micro = scale2.scalar_type() == at::kFloat8_e8m0fnu;
  require(group_size == 0 || (micro && group_size == kMxBlock), ACLNN_ERR_PARAM_INVALID, "parameter 'groupSize' is ",
          group_size, "; allowed: 0, and 32 for microscaling");
  require(!micro || given(scale1), ACLNN_ERR_PARAM_INVALID, "scale1Optional is null; microscaling needs it");
  const auto part_of = [&](const at::Tensor& scale, const RowGroup& group) {
    const int64_t first = group.begin / (2 * kMxBlock) + group.expert;
    const int64_t pairs = (group.rows() + 2 * kMxBlock - 1) / (2 * kMxBlock);
    return spread_scales(scale.view(at::kByte).narrow(0, first, pairs), 0, group.rows());
  };
  for (const RowGroup& group : row_groups(list, k, group_list(list_type, GroupList::kSizes), "groupList")) {
    if (group.rows() == 0) continue;
    at::Tensor a = x1.slice(0, group.begin, group.end).to(at::kFloat);
    at::Tensor b = x2.slice(0, group.begin, group.end).to(at::kFloat);
    if (micro) {
      a = a * part_of(*scale1, group);
      b = b * part_of(scale2, group);
    }
    at::Tensor product = at::matmul(a.t(), b);
    if (!micro) {
      product = product * scale2.select(0, group.expert).to(at::kFloat);
      if (given(scale1)) product = product * scale1->flatten()[group.expert].to(at::kFloat);
    }
    y.select(0, group.expert).add_(product);
  }
}

}  // namespace

#define OPWRIGHT_QUANT_GROUPED_MATMUL_DEQUANT(NAME)                                                                 \
  ACLNN(NAME,                                                                                                       \
        (In, x)(In, weight)(In, weightScale)(Index, groupList)(OptIn, biasOptional)(OptIn, xScaleOptional)(         \
            OptIn, xOffsetOptional)(OptIn, smoothScaleOptional)(Text, xQuantMode)(Bool, transposeWeight)(Out, out), \
        quant_grouped_matmul_dequant(                                                                               \
            x, weight, weightScale, groupList,                                                                      \
            {biasOptional, xScaleOptional, xOffsetOptional, smoothScaleOptional, xQuantMode, transposeWeight}, out))
OPWRIGHT_QUANT_GROUPED_MATMUL_DEQUANT(QuantGroupedMatmulDequant)
OPWRIGHT_QUANT_GROUPED_MATMUL_DEQUANT(QuantGroupedMatmulDequantWeightNZ)
ACLNN(QuantGroupedMatmulInplaceAdd,
      (CodedIn, x1)(CodedIn,
                    x2)(OptIn, scale1Optional)(In, scale2)(Index, groupList)(Ref, yRef)(Int, groupListType)(Int,
                                                                                                            groupSize),
      quant_grouped_matmul_inplace_add(x1, x2, scale1Optional, scale2, groupList, yRef, groupListType, groupSize))

#undef OPWRIGHT_QUANT_GROUPED_MATMUL_DEQUANT
