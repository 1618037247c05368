// native/opapi/ops/quantization/block_quantization.cpp
// Quantization with a scale for each rectangle of a matrix, and with a scale that is given, which also answers the
// largest magnitude.
#include "opapi/ops/common/group_rows.h"

namespace {

struct BlockRule {
  double min_scale, type_max;
  int64_t rows, columns;
  Rounding rounding;
};

BlockRule block_rule(double min_scale, const std::string& mode, int64_t rows, int64_t columns, double type_max) {
  require(rows > 0 && columns > 0, ACLNN_ERR_PARAM_INVALID, "rowBlockSize is ", rows, " and colBlockSize ", columns,
          "; they must be positive");
  require(min_scale >= 0, ACLNN_ERR_PARAM_INVALID, "minScale is ", min_scale, "; it must not be negative");
  return {min_scale, type_max, rows, columns, rounding_of(mode, "roundModeOptional")};
}

struct QuantizationBlocks {
  at::Tensor values;  // numbers of the format
  at::Tensor scales;
};

// For the last two dimensions. Infinity and NaN do not count for the scale.
QuantizationBlocks quantized_blocks(const at::Tensor& x, const BlockRule& rule, const LowFormat& format) {
  const int64_t rows = x.size(-2), columns = x.size(-1);
  const int64_t down = (rows + rule.rows - 1) / rule.rows, across = (columns + rule.columns - 1) / rule.columns;
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor finite = wide.abs().masked_fill_(wide.isfinite().logical_not_(), 0);
  const at::Tensor full = at::constant_pad_nd(finite, {0, across * rule.columns - columns, 0, down * rule.rows - rows});
  const at::Tensor largest = full.unflatten(-1, {across, rule.columns}).unflatten(-3, {down, rule.rows}).amax({-3, -1});
  const bool other = rule.type_max > 0 && format.dtype == ACL_HIFLOAT8;
  at::Tensor scales = largest / (other ? rule.type_max : format.highest);
  if (rule.min_scale > 0) scales = scales.clamp_max(1 / rule.min_scale);
  const at::Tensor each = scales.repeat_interleave(rule.rows, -2)
                              .narrow(-2, 0, rows)
                              .repeat_interleave(rule.columns, -1)
                              .narrow(-1, 0, columns);
  return {rounded(wide / each.masked_fill(each == 0, 1), format, rule.rounding), scales};
}

void check_matrix(const at::Tensor& x) {
  require(x.dim() == 2 || x.dim() == 3, ACLNN_ERR_PARAM_INVALID, "x has ", x.dim(), " dimensions; allowed: 2, 3");
}

void dynamic_block_quant(const at::Tensor& x, const BlockRule& rule, Coded& y, at::Tensor& scale) {
  check_matrix(x);
  if (x.numel() == 0) return;
  const QuantizationBlocks result = quantized_blocks(x, rule, y.format());
  store(y, result.values, rule.rounding);
  assign(scale, result.scales);
}

// The blocks of a group of rows begin with it; its scales begin at the whole blocks before it plus the groups before
// it.
void grouped_dynamic_block_quant(const at::Tensor& x, const at::Tensor& list, int64_t list_type, const BlockRule& rule,
                                 Coded& y, at::Tensor& scale) {
  check_matrix(x);
  require(list_type == 0, ACLNN_ERR_PARAM_INVALID, "groupListType is ", list_type, "; allowed: 0 (ends)");
  if (x.numel() == 0) return;
  at::Tensor values = at::zeros(x.sizes(), at::kFloat), scales = at::zeros(scale.sizes(), at::kFloat);
  for (const RowGroup& group : row_groups(list, x.size(-2), GroupList::kEnds, "groupList")) {
    const int64_t first = group.begin / rule.rows + group.expert;
    if (group.rows() == 0) continue;
    const QuantizationBlocks part = quantized_blocks(x.narrow(-2, group.begin, group.rows()), rule, y.format());
    values.narrow(-2, group.begin, group.rows()).copy_(part.values);
    require(first + part.scales.size(-2) <= scales.size(-2), ACLNN_ERR_PARAM_INVALID, "scaleOut has ", scales.size(-2),
            " rows; group ", group.expert, " needs rows ", first, " to ", first + part.scales.size(-2));
    scales.narrow(-2, first, part.scales.size(-2)).copy_(part.scales);
  }
  store(y, values, rule.rounding);
  assign(scale, scales);
}

// `groups` have one scale and one result in `largest` each.
void quant_max(const at::Tensor& x, const at::Tensor& scale, const std::vector<RowGroup>& groups,
               const std::string& mode, Coded& y, at::Tensor& largest) {
  require(scale.numel() == static_cast<int64_t>(groups.size()), ACLNN_ERR_PARAM_INVALID, "scale has ", scale.numel(),
          " values for ", groups.size(), " groups");
  const at::Tensor factors = scale.to(at::kFloat).flatten(), wide = x.to(at::kFloat);
  at::Tensor values = at::zeros(x.sizes(), at::kFloat), found = at::zeros({scale.numel()}, at::kFloat);
  for (const RowGroup& group : groups) {
    const at::Tensor part = wide.slice(0, group.begin, group.end);
    if (part.numel() == 0) continue;
    values.slice(0, group.begin, group.end).copy_(part * factors[group.expert]);
    found[group.expert].copy_(part.abs().amax());
  }
  store(y, values, rounding_of(mode, "roundMode"));
  assign(largest, found);
}

}  // namespace

ACLNN(DynamicBlockQuant,
      (In, x)(Double, minScale)(Text, roundModeOptional)(Int, dstType)(Int, rowBlockSize)(Int, colBlockSize)(
          CodedOut, yOut)(Out, scaleOut),
      dynamic_block_quant(x, block_rule(minScale, roundModeOptional, rowBlockSize, colBlockSize, 0),
                          typed(yOut, dstType), scaleOut))
ACLNN(DynamicBlockQuantV2,
      (In, x)(Double, minScale)(Text, roundModeOptional)(Int, dstType)(Int, rowBlockSize)(Int, colBlockSize)(
          Double, dstTypeMax)(CodedOut, yOut)(Out, scaleOut),
      dynamic_block_quant(x, block_rule(minScale, roundModeOptional, rowBlockSize, colBlockSize, dstTypeMax),
                          typed(yOut, dstType), scaleOut))
ACLNN(GroupedDynamicBlockQuant,
      (In, x)(Index, groupList)(Double, minScale)(Text, roundModeOptional)(Int, dstType)(Int, rowBlockSize)(
          Int, colBlockSize)(Int, groupListType)(CodedOut, yOut)(Out, scaleOut),
      grouped_dynamic_block_quant(x, groupList, groupListType,
                                  block_rule(minScale, roundModeOptional, rowBlockSize, colBlockSize, 0),
                                  typed(yOut, dstType), scaleOut))
ACLNN(GroupedDynamicBlockQuantV2,
      (In, x)(Index, groupList)(Double, minScale)(Text, roundModeOptional)(Int, dstType)(Int, rowBlockSize)(
          Int, colBlockSize)(Int, groupListType)(Double, dstTypeMax)(CodedOut, yOut)(Out, scaleOut),
      grouped_dynamic_block_quant(x, groupList, groupListType,
                                  block_rule(minScale, roundModeOptional, rowBlockSize, colBlockSize, dstTypeMax),
                                  typed(yOut, dstType), scaleOut))
ACLNN(QuantMax, (In, x)(In, scale)(Text, roundMode)(Int, dstType)(CodedOut, y)(Out, amax),
      quant_max(x, scale, {{0, x.dim() == 0 ? 1 : x.size(0)}}, roundMode, typed(y, dstType), amax))
ACLNN(GroupedQuantMax, (In, x)(In, scale)(Index, groupList)(Text, roundMode)(Int, dstType)(CodedOut, y)(Out, amax),
      quant_max(x, scale, row_groups(groupList, x.size(0), GroupList::kEnds, "groupList"), roundMode, typed(y, dstType),
                amax))
