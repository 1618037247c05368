// native/opapi/ops/quantization/swiglu_group_quantization.cpp
// SwiGLU with quantization in blocks: of 128 numbers, of microscaling formats along one axis or two, and of whole
// groups of rows; and the gradients.
#include "opapi/ops/common/group_rows.h"
#include "opapi/ops/quantization/swiglu.h"

namespace {

constexpr double kSmallest = 1e-4;  // the largest magnitude of a block counts as at least this
constexpr int64_t kWideBlock = 128;

// Writes the leading rows; the others hold nothing of use and become zero.
at::Tensor completed(const at::Tensor& values, at::IntArrayRef sizes) {
  at::Tensor all = at::zeros(sizes, values.options());
  by_rows(all).slice(0, 0, values.size(0)).copy_(values);
  return all;
}

struct GroupQuant {
  OptionalTensor weight, group_index, scale;
  int64_t mode, block;
  bool round_scale;
  double limit, type_max;
};

struct Result {
  at::Tensor values;  // numbers of the format
  at::Tensor scales;
};

Result quantized_blocks(const at::Tensor& values, const LowFormat& format, bool round_scale) {
  const int64_t size = values.size(-1), count = (size + kWideBlock - 1) / kWideBlock;
  const at::Tensor blocks =
      at::constant_pad_nd(values, {0, count * kWideBlock - size}).unflatten(-1, {count, kWideBlock});
  const at::Tensor finite = blocks.abs().masked_fill(blocks.isfinite().logical_not(), 0);
  at::Tensor scale = finite.amax(-1).clamp_min(kSmallest) / format.highest;
  if (round_scale) {
    const MxRule rule{.algorithm = 1, .low_bound = kSmallest};
    const at::Tensor codes = mx_scale_codes(finite.amax(-1), format, rule);
    scale = at::ldexp(at::ones({}, at::kFloat), codes.to(at::kInt) - 127);
  }
  const at::Tensor scaled = blocks / scale.unsqueeze(-1);
  const at::Tensor usable = at::where(scaled.isfinite(), scaled, blocks);
  return {rounded(usable, format).flatten(-2).narrow(-1, 0, size), scale};
}

Result quantized_micro(const at::Tensor& values, const LowFormat& format, bool round_scale) {
  require(round_scale, ACLNN_ERR_PARAM_INVALID, "roundScale is false; quantMode 1 needs true");
  const bool byte_float = format.highest > 6;
  const MxRule rule{.algorithm = byte_float ? 1 : 0, .low_bound = byte_float ? kSmallest : 0};
  const MxQuantized result = mx_quantized(values, -1, format, rule);
  return {result.values, paired(result.scales, -1)};
}

// Each group of rows has one factor: given (mode 2), or by its largest magnitude (mode 3).
Result quantized_groups(const at::Tensor& values, const std::vector<RowGroup>& groups, const GroupQuant& call,
                        const LowFormat& format) {
  at::Tensor result = at::zeros(values.sizes(), at::kFloat);
  at::Tensor scales = at::zeros({static_cast<int64_t>(groups.size())}, at::kFloat);
  require(call.mode == 3 || given(call.scale), ACLNN_ERR_PARAM_INVALID, "scaleOptional is null; quantMode 2 needs it");
  const double highest = call.type_max > 0 ? call.type_max : format.highest;
  for (size_t i = 0; i < groups.size(); ++i) {
    const RowGroup& group = groups[i];
    if (group.rows() == 0) continue;
    const at::Tensor part = values.slice(0, group.begin, group.end);
    const auto index = static_cast<int64_t>(i);
    at::Tensor scaled;
    if (call.mode == 2) {
      const at::Tensor factors = call.scale->to(at::kFloat).flatten();
      scaled = part * factors[std::min(index, factors.numel() - 1)];
    } else {
      const at::Tensor scale = part.abs().amax().clamp_min(kSmallest) / highest;
      scales[index].copy_(scale);
      scaled = part / scale;
    }
    result.slice(0, group.begin, group.end).copy_(rounded(scaled, format));
  }
  return {result, scales};
}

Result quantized_by(const at::Tensor& values, const std::vector<RowGroup>& groups, const GroupQuant& call,
                    const LowFormat& format) {
  const bool torch_float = format.dtype == ACL_FLOAT8_E4M3FN || format.dtype == ACL_FLOAT8_E5M2;
  switch (call.mode) {
    case 0:
      require(torch_float && (call.block == 0 || call.block == kWideBlock), ACLNN_ERR_PARAM_INVALID, "blockSize is ",
              call.block, " for an output of ", dtype_name(format.dtype),
              "; quantMode 0 allows 0 and 128 for float8_e4m3fn and float8_e5m2");
      return quantized_blocks(values, format, call.round_scale);
    case 1:
      require(call.block == 0 || call.block == kMxBlock, ACLNN_ERR_PARAM_INVALID, "blockSize is ", call.block,
              "; quantMode 1 allows 0 and 32");
      return quantized_micro(values, format, call.round_scale);
    case 2:
    case 3:
      return quantized_groups(values, groups, call, format);
    default:
      fail(ACLNN_ERR_PARAM_INVALID, "quantMode is ", call.mode, "; allowed: 0, 1, 2, 3");
  }
}

std::vector<RowGroup> expert_groups(const OptionalTensor& index, int64_t rows) {
  return given(index) ? row_groups(*index, rows, GroupList::kSizes) : std::vector<RowGroup>{{0, rows}};
}

void swiglu_group_quant(const at::Tensor& x, const GroupQuant& call, bool output_origin, Coded& y, at::Tensor& scale,
                        at::Tensor& origin) {
  if (x.numel() == 0) return;
  const at::Tensor rows = by_rows(x);
  const std::vector<RowGroup> groups = expert_groups(call.group_index, rows.size(0));
  const int64_t count = groups.back().end;
  Gating gating;
  gating.limit = std::max(call.limit, 0.0);
  at::Tensor values = gated(rows.slice(0, 0, count), gating);
  if (given(call.weight)) values = values * call.weight->to(at::kFloat).reshape({-1, 1}).slice(0, 0, count);
  const Result result = quantized_by(values, groups, call, y.format());
  store(y, completed(result.values, y.values.sizes()), Rounding::kNearestEven);
  if (output_origin) assign(origin, completed(values, origin.sizes()));
  if (!scale.defined() || scale.numel() == 0 || call.mode == 2) return;
  if (call.mode == 3) {
    scale.copy_(result.scales.view(scale.sizes()));
    return;
  }
  at::Tensor target = call.mode == 1 ? scale.view(at::kByte) : scale;
  at::Tensor complete = at::zeros(target.sizes(), result.scales.options());
  complete.view({rows.size(0), -1}).slice(0, 0, count).copy_(result.scales.reshape({count, -1}));
  target.copy_(complete);
}

void swiglu_group_quant_grad(const at::Tensor& grad, const at::Tensor& x, const OptionalTensor& weight,
                             const OptionalTensor& origin, const OptionalTensor& group_index, double limit,
                             at::Tensor& grad_x, at::Tensor& grad_weight) {
  const at::Tensor rows = by_rows(x).to(at::kFloat), all_grads = by_rows(grad).to(at::kFloat);
  const int64_t count = expert_groups(group_index, rows.size(0)).back().end, half = rows.size(-1) / 2;
  const at::Tensor used = rows.slice(0, 0, count), grads = all_grads.slice(0, 0, count);
  at::Tensor clamped = used, passes;
  if (limit > 0) {
    const at::Tensor gate = used.narrow(-1, 0, half), factor = used.narrow(-1, half, half);
    clamped = at::cat({gate.clamp_max(limit), factor.clamp(-limit, limit)}, -1);
    passes = at::cat({gate < limit, factor.abs() < limit}, -1);
  }
  const at::Tensor factors =
      given(weight) ? weight->to(at::kFloat).reshape({-1, 1}).slice(0, 0, count) : at::ones({1, 1}, at::kFloat);
  at::Tensor result = gated_gradient(clamped, grads * factors, /*left=*/true);
  if (passes.defined()) result = result * passes;
  assign(grad_x, completed(result, grad_x.sizes()));
  if (!grad_weight.defined() || grad_weight.numel() == 0) return;
  require(given(origin).has_value(), ACLNN_ERR_PARAM_INVALID,
          "yOriginOptional is null; gradWeightOutOptional needs it");
  const at::Tensor sums = (grads * by_rows(*origin).slice(0, 0, count).to(at::kFloat)).sum(-1);
  at::Tensor complete = at::zeros({grad_weight.numel()}, at::kFloat);
  complete.slice(0, 0, count).copy_(sums);
  grad_weight.copy_(complete.view(grad_weight.sizes()));
}

GroupList list_of(int64_t group_mode) {
  require(group_mode == 0 || group_mode == 1, ACLNN_ERR_PARAM_INVALID, "groupMode is ", group_mode,
          "; allowed: 0 (sizes), 1 (ends)");
  return group_mode == 0 ? GroupList::kSizes : GroupList::kEnds;
}

struct SwigluMx {
  OptionalTensor group_index;
  GroupList list;
  Gating gating;
  int64_t axis;
  std::string round_mode;
  int64_t algorithm;
  double type_max;
};

// Along rows, each group by itself.
void store_mx_rows(const at::Tensor& values, const std::vector<RowGroup>& groups, const MxRule& rule, Coded& y,
                   at::Tensor& scale) {
  require(values.dim() == 2, ACLNN_ERR_PARAM_INVALID, "x has ", values.dim(), " dimensions; groups of rows need 2");
  at::Tensor numbers = at::zeros(values.sizes(), at::kFloat), codes = at::zeros(scale.sizes(), at::kByte);
  store_row_groups(values, groups, y.format(), rule, numbers, codes);
  store(y, numbers);
  store_codes(scale, codes);
}

void swiglu_mx_quant(const at::Tensor& x, const SwigluMx& call, Coded& y, at::Tensor& scale) {
  if (x.numel() == 0) return;
  const MxRule rule = mx_rule(y.format(), call.round_mode, call.algorithm, call.type_max);
  const at::Tensor values = gated(x, call.gating);
  const bool last = at::maybe_wrap_dim(call.axis, x.dim()) == x.dim() - 1;
  if (given(call.group_index) && !last) {
    store_mx_rows(values, row_groups(*call.group_index, values.size(0), call.list), rule, y, scale);
  } else {
    store_mx(y, scale, values, call.axis, rule);
  }
}

void store_both_axes(const at::Tensor& values, const OptionalTensor& group_index, const std::string& mode,
                     int64_t algorithm, double type_max, Coded& y1, at::Tensor& scale1, Coded& y2, at::Tensor& scale2) {
  const MxRule rule = mx_rule(y1.format(), mode, algorithm, type_max);
  store_mx(y1, scale1, values, -1, rule);
  if (given(group_index)) {
    store_mx_rows(values, row_groups(*group_index, values.size(0), GroupList::kEnds), rule, y2, scale2);
  } else {
    store_mx(y2, scale2, values, -2, rule);
  }
}

}  // namespace

ACLNN(SwigluGroupQuant,
      (In, x)(OptIn, weightOptional)(OptIndex, groupIndexOptional)(OptIn, scaleOptional)(Int, dstType)(Int, quantMode)(
          Int, blockSize)(Bool, roundScale)(Double, clampLimit)(Double, dstTypeMax)(Bool, outputOrigin)(CodedOut, yOut)(
          OptOut, yScaleOut)(OptOut, yOriginOut),
      swiglu_group_quant(x,
                         {weightOptional, groupIndexOptional, scaleOptional, quantMode, blockSize, roundScale,
                          clampLimit, dstTypeMax},
                         outputOrigin, typed(yOut, dstType), yScaleOut, yOriginOut))
ACLNN(SwigluGroupQuantGrad,
      (In, gradY)(In, x)(OptIn, weightOptional)(OptIn, yOriginOptional)(OptIndex, groupIndexOptional)(
          Double, clampLimit)(Out, gradXOut)(OptOut, gradWeightOutOptional),
      swiglu_group_quant_grad(gradY, x, weightOptional, yOriginOptional, groupIndexOptional, clampLimit, gradXOut,
                              gradWeightOutOptional))
// maxDtypeValue is for scaleAlg 2 only (aclnnSwigluMxQuant.md).
ACLNN(SwigluMxQuant,
      (In, x)(OptIndex, groupIndexOptional)(Int, activateDim)(Bool, activateLeft)(Int, swigluMode)(Double, clampLimit)(
          Double, gluAlpha)(Double, gluBias)(Int, groupMode)(Int, axis)(Int, dstType)(Text, roundModeOptional)(
          Int, scaleAlg)(Double, maxDtypeValue)(CodedOut, yOut)(Out, mxscaleOut),
      swiglu_mx_quant(x,
                      {groupIndexOptional, list_of(groupMode),
                       gating_of(swigluMode, activateDim, activateLeft, clampLimit, gluAlpha, gluBias), axis,
                       roundModeOptional, scaleAlg, scaleAlg == 2 ? maxDtypeValue : 0},
                      typed(yOut, dstType), mxscaleOut))
ACLNN(SwigluMxQuantWithDualAxis,
      (In, x)(OptIndex, groupIndexOptional)(Bool, activateLeft)(Text, roundModeOptional)(Int, scaleAlg)(Int, dstType)(
          Double, maxDtypeValue)(CodedOut, y1Out)(Out, mxscale1Out)(CodedOut, y2Out)(Out, mxscale2Out),
      store_both_axes(gated(x, {.left = activateLeft}), groupIndexOptional, roundModeOptional, scaleAlg, maxDtypeValue,
                      typed(y1Out, dstType), mxscale1Out, typed(y2Out, dstType), mxscale2Out))
ACLNN(SwigluBackwardMxQuantWithDualAxis,
      (In, x)(In, yGrad)(OptIndex, groupIndexOptional)(Bool, activateLeft)(Text, roundModeOptional)(Int, scaleAlg)(
          Int, dstDtype)(Double, maxDtypeValue)(CodedOut, y1Out)(Out, mxscale1Out)(CodedOut, y2Out)(Out, mxscale2Out),
      store_both_axes(gated_gradient(x, yGrad, activateLeft), groupIndexOptional, roundModeOptional, scaleAlg,
                      maxDtypeValue, typed(y1Out, dstDtype, "dstDtype"), mxscale1Out,
                      typed(y2Out, dstDtype, "dstDtype"), mxscale2Out))
