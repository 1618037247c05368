// native/opapi/ops/quant_grouped_matmul.cpp
// Products of quantized matrices for groups: of rows of x, each with its own weight, or of the summed dimension.
#include "opapi/ops/group_rows.h"
#include "opapi/ops/quant_matmul.h"

namespace {

std::vector<RowGroup> groups_of(const at::Tensor& list, int64_t count, int64_t list_type) {
  require(list_type == 0 || list_type == 1, ACLNN_ERR_PARAM_INVALID, "groupListType is ", list_type,
          "; allowed: 0 (ends), 1 (sizes)");
  return row_groups(list, count, list_type == 0 ? GroupList::kEnds : GroupList::kSizes);
}

void quant_grouped_matmul_dequant(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& weight_scale,
                                  const at::Tensor& list, DequantOperands operands, at::Tensor& out) {
  at::Tensor result = at::zeros(out.sizes(), at::kDouble);
  const OptionalTensor all_scales = given(operands.x_scale), bias = given(operands.bias);
  int64_t index = -1;
  for (const RowGroup& group : groups_of(list, x.size(0), 0)) {
    ++index;
    if (group.rows() == 0) continue;
    if (all_scales && all_scales->numel() > 1)
      operands.x_scale = all_scales->flatten().slice(0, group.begin, group.end);
    if (bias) operands.bias = bias->select(0, index);
    result.slice(0, group.begin, group.end)
        .copy_(quantized_product(x.slice(0, group.begin, group.end), weight.select(0, index),
                                 weight_scale.select(0, index), operands));
  }
  assign(out, result);
}

// x1 [k, m] and x2 [k, n] in groups along k; each adds its product to its own matrix. The scales of microscaling begin
// at the whole pairs of blocks before the group plus the groups before it.
void quant_grouped_matmul_inplace_add(const at::Tensor& x1, const at::Tensor& x2, const OptionalTensor& scale1,
                                      const at::Tensor& scale2, const at::Tensor& list, at::Tensor& y,
                                      int64_t list_type) {
  const int64_t k = x2.size(0);
  require(x1.dim() == 2 && x1.size(0) == k && y.dim() == 3 && y.size(0) == list.numel(), ACLNN_ERR_PARAM_INVALID,
          "x1 has shape ", x1.sizes(), ", x2 ", x2.sizes(), " and yRef ", y.sizes(), " for ", list.numel(), " groups");
  const bool micro = scale2.scalar_type() == at::kFloat8_e8m0fnu;
  require(!micro || given(scale1), ACLNN_ERR_PARAM_INVALID, "scale1Optional is null; microscaling needs it");
  const auto part_of = [&](const at::Tensor& scale, const RowGroup& group, int64_t index) {
    const int64_t pairs = (group.rows() + 2 * kMxBlock - 1) / (2 * kMxBlock);
    return spread_scales(scale.view(at::kByte).narrow(0, group.begin / (2 * kMxBlock) + index, pairs), 0, group.rows());
  };
  int64_t index = -1;
  for (const RowGroup& group : groups_of(list, k, list_type)) {
    ++index;
    if (group.rows() == 0) continue;
    at::Tensor a = x1.slice(0, group.begin, group.end).to(at::kFloat);
    at::Tensor b = x2.slice(0, group.begin, group.end).to(at::kFloat);
    if (micro) {
      a = a * part_of(*scale1, group, index);
      b = b * part_of(scale2, group, index);
    }
    at::Tensor product = at::matmul(a.t(), b);
    if (!micro) {
      product = product * scale2.select(0, index).to(at::kFloat);
      if (given(scale1)) product = product * scale1->flatten()[index].to(at::kFloat);
    }
    y.select(0, index).add_(product);
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
      quant_grouped_matmul_inplace_add(x1, x2, scale1Optional, scale2, groupList, yRef, groupListType))
