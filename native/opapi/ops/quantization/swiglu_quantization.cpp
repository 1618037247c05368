// native/opapi/ops/quantization/swiglu_quantization.cpp
// SwiGLU and GELU whose result is quantized, also for groups of rows (mixture of experts) and after dequantization.
#include <numeric>

#include "opapi/ops/common/group_rows.h"
#include "opapi/ops/quantization/swiglu.h"

namespace {

// For each row of a group the number of its expert; rows behind the last group are left out.
at::Tensor expert_of_rows(const std::vector<RowGroup>& groups) {
  std::vector<int64_t> experts, sizes;
  for (const RowGroup& group : groups) {
    experts.push_back(group.expert);
    sizes.push_back(group.rows());
  }
  return at::tensor(experts).repeat_interleave(at::tensor(sizes));
}

int64_t grouped_rows(const std::vector<RowGroup>& groups) { return groups.empty() ? 0 : groups.back().end; }

// A parameter with one row (or, if `scalars`, one number) for each expert, for the rows of the groups.
at::Tensor for_groups(const at::Tensor& parameter, const at::Tensor& expert_of_row, bool scalars) {
  const at::Tensor wide = parameter.to(at::kFloat);
  if (wide.numel() == 1 || (wide.dim() < 2 && !scalars)) return wide;
  const at::Tensor table = wide.dim() < 2 ? wide.unsqueeze(-1) : wide;
  if (table.size(0) == 1) return table;
  const int64_t last = expert_of_row.numel() == 0 ? 0 : expert_of_row.max().item<int64_t>();
  require(last < table.size(0), ACLNN_ERR_PARAM_INVALID, "a group is of expert ", last,
          ", but a scale, offset or bias has shape ", parameter.sizes(), "; it must have a row for each expert");
  return table.index_select(0, expert_of_row);
}

struct DequantSwiglu {
  OptionalTensor weight_scale, activation_scale, bias, quant_scale, quant_offset, group_index;
  std::string quant_mode, round_mode;
  Gating gating;
};

// The sizes of the groups, or pairs of expert and size (dequant_swiglu_quant.h in CANN's ops-nn), or one group of all
// rows.
std::vector<RowGroup> sized_groups(const OptionalTensor& index, int64_t rows) {
  if (!index) return {{0, rows}};
  return row_groups(*index, rows, index->dim() == 2 ? GroupList::kPairs : GroupList::kSizes);
}

at::Tensor dequantized(const at::Tensor& x, const DequantSwiglu& call, const at::Tensor& expert_of_row) {
  at::Tensor values = x.to(at::kFloat);
  if (x.scalar_type() != at::kInt) {
    require(!call.weight_scale && !call.activation_scale && !call.bias, ACLNN_ERR_PARAM_INVALID, "x is ",
            x.scalar_type(), "; weightScaleOptional, activationScaleOptional and biasOptional are for int32 only");
    return values;
  }
  require(call.weight_scale.has_value(), ACLNN_ERR_PARAM_INVALID, "weightScaleOptional is null; x of int32 needs it");
  const bool integer_bias = call.bias && call.bias->scalar_type() == at::kInt;
  if (integer_bias) values = (x.to(at::kDouble) + for_groups(*call.bias, expert_of_row, false)).to(at::kFloat);
  values = values * for_groups(*call.weight_scale, expert_of_row, false);
  if (call.activation_scale) {
    const at::Tensor scale = call.activation_scale->to(at::kFloat);
    values = values * (x.dim() == scale.dim() + 1 ? scale : scale.flatten().slice(0, 0, x.size(0))).unsqueeze(-1);
  }
  if (call.bias && !integer_bias) values = values + for_groups(*call.bias, expert_of_row, false);
  return values;
}

// `scale` is what the rounded values are to be multiplied with; undefined for static quantization.
void store_part(Coded& y, at::Tensor& scale_out, const at::Tensor& values, const at::Tensor& factor, Rounding mode) {
  // Rows behind the groups hold nothing of use; zeros are written there.
  at::Tensor all = at::zeros(y.values.sizes(), at::kFloat);
  at::Tensor rows = values.dim() == all.dim() ? all : by_rows(all);
  rows.slice(0, 0, values.size(0)).copy_(values);
  store(y, all, mode);
  if (!factor.defined() || !scale_out.defined()) return;
  at::Tensor scales = at::zeros({scale_out.numel()}, at::kFloat);
  scales.slice(0, 0, factor.numel()).copy_(factor.flatten());
  scale_out.copy_(scales.view(scale_out.sizes()));
}

void dequant_swiglu_quant(const at::Tensor& x, const DequantSwiglu& call, Coded& y, at::Tensor& scale_out) {
  const std::string mode = call.quant_mode.empty() ? "static" : call.quant_mode;
  require(mode == "static" || mode == "dynamic", ACLNN_ERR_PARAM_INVALID, "quantModeOptional is '", mode,
          "'; allowed: static, dynamic");
  require(x.dim() > 1, ACLNN_ERR_PARAM_INVALID, "x has ", x.dim(), " dimensions; it must have at least 2");
  if (x.numel() == 0) return;
  const bool last = at::maybe_wrap_dim(call.gating.dim, x.dim()) == x.dim() - 1;
  require(last || (mode == "static" && !call.group_index), ACLNN_ERR_PARAM_INVALID, "activateDim is ", call.gating.dim,
          "; dynamic quantization and groupIndexOptional need the last dimension");
  const at::Tensor rows = last ? by_rows(x) : x;
  const std::vector<RowGroup> groups = sized_groups(call.group_index, rows.size(0));
  const at::Tensor expert_of_row = expert_of_rows(groups);
  const bool grouped = call.group_index.has_value();
  const at::Tensor used = rows.slice(0, 0, grouped_rows(groups));
  at::Tensor values = gated(dequantized(used, call, expert_of_row), call.gating);
  const Rounding rounding = rounding_of(call.round_mode, "roundModeOptional");
  if (mode == "static") {
    if (call.quant_scale) values = values / for_groups(*call.quant_scale, expert_of_row, grouped);
    if (call.quant_offset) values = values + for_groups(*call.quant_offset, expert_of_row, grouped);
    store_part(y, scale_out, values, {}, rounding);
    return;
  }
  if (call.quant_scale) values = values * for_groups(*call.quant_scale, expert_of_row, false);
  const at::Tensor factor = values.abs().amax(-1, /*keepdim=*/true) / y.format().highest;
  store_part(y, scale_out, values / factor.masked_fill(factor == 0, 1), factor, rounding);
}

// Two 4-bit integers in each int8, the first in the lower bits.
at::Tensor pairs_of_int4(const at::Tensor& values) {
  const at::Tensor nibbles = values.to(at::kInt).bitwise_and(15).unflatten(-1, {values.size(-1) / 2, 2});
  return (nibbles.select(-1, 0) + nibbles.select(-1, 1) * 16).to(at::kChar);  // to int8 keeps the low 8 bits
}

void swiglu_quant(const at::Tensor& x, const OptionalTensor& smooth, const OptionalTensor& offsets,
                  const OptionalTensor& group_index, bool left, const std::string& mode, int64_t list_type,
                  int64_t dtype, Coded& y, at::Tensor& scale_out) {
  require(mode == "static" || mode == "dynamic", ACLNN_ERR_PARAM_INVALID, "quantModeOptional is '", mode,
          "'; allowed: static, dynamic");
  require(list_type == 0 || list_type == 1, ACLNN_ERR_PARAM_INVALID, "groupListType is ", list_type,
          "; allowed: 0 (ends), 1 (sizes)");
  const bool pairs = dtype == ACL_INT4 && y.dtype == ACL_INT8;  // torch_npu has int8 of half the size for int4
  require(pairs || ((dtype == ACL_INT8 || dtype == ACL_INT4) && dtype == y.dtype), ACLNN_ERR_PARAM_INVALID,
          "dstType is ", dtype, " for an output of ", dtype_name(y.dtype),
          "; allowed: 2 (int8), 29 (int4), as the output");
  if (x.numel() == 0) return;
  const LowFormat& format = low_format(static_cast<aclDataType>(dtype));
  const at::Tensor all_rows = by_rows(x);
  const std::vector<RowGroup> groups =
      group_index ? row_groups(*group_index, all_rows.size(0), list_type == 0 ? GroupList::kEnds : GroupList::kSizes)
                  : std::vector<RowGroup>{{0, all_rows.size(0)}};
  const at::Tensor expert_of_row = expert_of_rows(groups);
  Gating gating;
  gating.left = left;
  at::Tensor values = gated(all_rows.slice(0, 0, grouped_rows(groups)), gating), factor;
  if (smooth) values = values * for_groups(*smooth, expert_of_row, true);
  if (mode == "static") {
    if (offsets) values = values + for_groups(*offsets, expert_of_row, true);
  } else {
    factor = format.highest / values.abs().amax(-1, /*keepdim=*/true);
    values = values * factor.masked_fill(factor.isinf(), 1);
  }
  values = rounded(values, format);
  if (pairs) values = pairs_of_int4(values).to(at::kFloat);
  store_part(y, scale_out, values, factor, Rounding::kNearestEven);
}

void gelu_quant(const at::Tensor& self, const OptionalTensor& scale, const OptionalTensor& offset,
                const std::string& approximate, const std::string& mode, const std::string& round_mode, Coded& y,
                at::Tensor& scale_out) {
  require(mode == "static" || mode == "dynamic", ACLNN_ERR_PARAM_INVALID, "quantMode is '", mode,
          "'; allowed: static, dynamic");
  require(approximate == "none" || approximate == "tanh", ACLNN_ERR_PARAM_INVALID, "approximate is '", approximate,
          "'; allowed: none, tanh");
  require(mode == "dynamic" || scale.has_value(), ACLNN_ERR_PARAM_INVALID,
          "inputScaleOptional is null; static quantization needs it");
  const Rounding rounding = rounding_of(round_mode, "roundMode");
  at::Tensor values = at::gelu(self.to(at::kFloat), approximate);
  if (scale) values = values * scale->to(at::kFloat);
  if (mode == "dynamic") {
    store_rows(y, scale_out, values, 0, rounding);
    return;
  }
  store(y, offset ? values + offset->to(at::kFloat) : values, rounding);
}

}  // namespace

ACLNN(DequantSwigluQuant,
      (In, x)(OptIn, weightScaleOptional)(OptIn, activationScaleOptional)(OptIn, biasOptional)(
          OptIn, quantScaleOptional)(OptIn, quantOffsetOptional)(OptIndex, groupIndexOptional)(Bool, activateLeft)(
          Text, quantModeOptional)(CodedOut, yOut)(OptOut, scaleOut),
      dequant_swiglu_quant(x,
                           {weightScaleOptional,
                            activationScaleOptional,
                            biasOptional,
                            quantScaleOptional,
                            quantOffsetOptional,
                            groupIndexOptional,
                            quantModeOptional,
                            "",
                            {.left = activateLeft}},
                           yOut, scaleOut))
ACLNN(DequantSwigluQuantV2,
      (In, x)(OptIn, weightScaleOptional)(OptIn, activationScaleOptional)(OptIn, biasOptional)(
          OptIn, quantScaleOptional)(OptIn, quantOffsetOptional)(OptIndex, groupIndexOptional)(Bool, activateLeft)(
          Text, quantModeOptional)(Int, dstType)(Text, roundModeOptional)(Int, activateDim)(Int, swigluMode)(
          Double, clampLimit)(Double, gluAlpha)(Double, gluBias)(CodedOut, yOut)(OptOut, scaleOut),
      dequant_swiglu_quant(x,
                           {weightScaleOptional, activationScaleOptional, biasOptional, quantScaleOptional,
                            quantOffsetOptional, groupIndexOptional, quantModeOptional, roundModeOptional,
                            gating_of(swigluMode, activateDim, activateLeft, clampLimit, gluAlpha, gluBias)},
                           typed(yOut, dstType), scaleOut))
// No mode is the dynamic one.
ACLNN(SwiGluQuant,
      (In, x)(OptIn, smoothScalesOptional)(OptIn, offsetsOptional)(OptIndex, groupIndexOptional)(Bool, activateLeft)(
          Text, quantModeOptional)(CodedOut, yOut)(OptOut, scaleOut),
      swiglu_quant(x, smoothScalesOptional, offsetsOptional, groupIndexOptional, activateLeft,
                   quantModeOptional.empty() ? "dynamic" : quantModeOptional, static_cast<int64_t>(GroupList::kEnds),
                   ACL_INT8, yOut, scaleOut))
ACLNN(SwiGluQuantV2,
      (In, x)(OptIn, smoothScalesOptional)(OptIn, offsetsOptional)(OptIndex, groupIndexOptional)(Bool, activateLeft)(
          Text, quantModeOptional)(Int, groupListType)(DtypeCode, dstType)(CodedOut, yOut)(OptOut, scaleOut),
      swiglu_quant(x, smoothScalesOptional, offsetsOptional, groupIndexOptional, activateLeft, quantModeOptional,
                   groupListType, dstType, yOut, scaleOut))
ACLNN(GeluQuant,
      (In, self)(OptIn, inputScaleOptional)(OptIn, inputOffsetOptional)(Text, approximate)(Text, quantMode)(
          Text, roundMode)(Int, dstType)(CodedOut, y)(OptOut, outScaleOptional),
      gelu_quant(self, inputScaleOptional, inputOffsetOptional, approximate, quantMode, roundMode, typed(y, dstType),
                 outScaleOptional))
