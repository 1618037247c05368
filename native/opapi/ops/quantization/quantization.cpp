// native/opapi/ops/quantization/quantization.cpp
// Quantization and its inverse. Everything is computed in float32; results are rounded once and saturate.
#include <numeric>

#include "opapi/ops/common/group_rows.h"

namespace {

// A scale or offset with one value per slice along `axis`, in the shape that broadcasts with `x`.
at::Tensor along(const at::Tensor& x, const at::Tensor& values, int64_t axis) {
  const at::Tensor wide = values.to(at::kFloat);
  if (wide.dim() != 1 || wide.numel() == 1 || x.dim() <= 1) return wide;
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(at::maybe_wrap_dim(axis, x.dim()))] = wide.numel();
  return wide.view(shape);
}

void ascend_quant(Coded& out, const at::Tensor& x, const at::Tensor& scale, const OptionalTensor& offset,
                  bool sqrt_mode, const std::string& mode, int64_t axis) {
  const Rounding rounding = even_rounding_of(mode, "roundMode");
  const at::Tensor factor = along(x, scale, axis);
  at::Tensor values = x.to(at::kFloat) * factor;
  if (sqrt_mode) values.mul_(factor);
  if (offset) values.add_(along(x, *offset, axis));
  store(out, values, rounding);
}

void anti_quant(at::Tensor& out, const at::Tensor& x, const at::Tensor& scale, const OptionalTensor& offset,
                bool sqrt_mode) {
  at::Tensor values = unpacked(x).to(at::kFloat);
  // One value per element of the last dimension, or of the one before it.
  const int64_t axis = values.dim() > 1 && scale.dim() == 1 && scale.numel() != values.size(-1) ? -2 : -1;
  if (offset) values = values + along(values, *offset, axis);
  const at::Tensor factor = along(values, scale, axis);
  values = values * factor;
  assign(out, sqrt_mode ? values * factor : values);
}

void quantize(Coded& out, const at::Tensor& x, const at::Tensor& scales, const OptionalTensor& zero_points,
              int64_t axis) {
  at::Tensor values = x.to(at::kFloat) / along(x, scales, axis);
  // An int32 output is not packed here; float32 cannot hold its bounds.
  const bool wide = out.dtype == ACL_INT32;
  if (wide || out.format().integral) values = values.to(at::kDouble).round_();
  if (zero_points) values = values + along(x, *zero_points, axis);
  if (wide) {
    assign(out.values, values.clamp_(-2147483648.0, 2147483647.0));
  } else {
    store(out, values.to(at::kFloat));
  }
}

// Rows of `x` times the scales of their group; `ends` are the rows at which the groups end.
at::Tensor smoothed(const at::Tensor& tensor, const OptionalTensor& scales, const OptionalTensor& ends,
                    bool per_channel) {
  const at::Tensor x = tensor.to(at::kFloat);
  if (!scales) {
    require(!ends, ACLNN_ERR_PARAM_INVALID, "groupIndexOptional needs smoothScalesOptional, but it is null");
    return x;
  }
  if (!ends) return x * along(x, *scales, per_channel ? -2 : -1);
  const at::Tensor rows = x.reshape({-1, x.size(-1)}).clone();
  for (const RowGroup& group : row_groups(*ends, rows.size(0), GroupList::kEnds, "groupIndexOptional")) {
    rows.slice(0, group.begin, group.end).mul_((*scales)[group.expert]);
  }
  return rows.view(x.sizes());
}

void dynamic_quant(Coded& out, at::Tensor& scale_out, at::Tensor* offset_out, const at::Tensor& tensor,
                   const OptionalTensor& smooth_scales, const OptionalTensor& group_ends, bool symmetrical,
                   const std::string& mode, double type_max = 0) {
  const bool per_channel = mode == "perchannel", per_tensor = mode == "pertensor";
  require(per_channel || per_tensor || mode == "pertoken", ACLNN_ERR_PARAM_INVALID, "quantMode is '", mode,
          "'; allowed: pertoken, pertensor, perchannel");
  require(!group_ends || mode == "pertoken", ACLNN_ERR_PARAM_INVALID,
          "groupIndexOptional is only possible with quantMode pertoken");
  LowFormat type = out.format();
  if (type_max > 0 && type.dtype == ACL_HIFLOAT8) type.highest = type_max;
  const at::Tensor x = smoothed(tensor, smooth_scales, group_ends, per_channel);
  if (x.numel() == 0) return;
  const std::vector<int64_t> all = [&] {
    std::vector<int64_t> dims(static_cast<size_t>(x.dim()));
    std::iota(dims.begin(), dims.end(), 0);
    return dims;
  }();
  const std::vector<int64_t> dims = per_tensor ? all : std::vector<int64_t>{per_channel ? -2 : -1};
  const at::Tensor highest = (symmetrical ? x.abs() : x).amax(dims, /*keepdim=*/true);
  const at::Tensor scale =
      symmetrical ? highest / type.highest : (highest - x.amin(dims, /*keepdim=*/true)) / (type.highest - type.lowest);
  const at::Tensor divisor = scale.masked_fill(scale == 0, 1);  // a slice of zeros stays zero
  at::Tensor values = x / divisor, offset;
  if (!symmetrical) {
    offset = type.highest - highest / divisor;
    values.add_(offset);
  }
  store(out, values);
  scale_out.copy_(scale.view(scale_out.sizes()));
  if (offset.defined() && offset_out != nullptr && offset_out->defined()) {
    offset_out->copy_(offset.view(offset_out->sizes()));
  }
}

}  // namespace

ACLNN(AscendQuant, (In, x)(In, scale)(OptIn, offset)(Bool, sqrtMode)(Text, roundMode)(Int32, dstType)(CodedOut, y),
      ascend_quant(typed(y, dstType), x, scale, offset, sqrtMode, roundMode, -1))
ACLNN(AscendQuantV3,
      (In, x)(In, scale)(OptIn, offset)(Bool, sqrtMode)(Text, roundMode)(Int32, dstType)(Int32, axis)(CodedOut, y),
      ascend_quant(typed(y, dstType), x, scale, offset, sqrtMode, roundMode, axis))
ACLNN(AscendAntiQuant, (CodedIn, x)(In, scale)(OptIn, offset)(DtypeInt, dstType)(Bool, sqrtMode)(Out, y),
      anti_quant(typed(y, dstType), x, scale, offset, sqrtMode))
ACLNN(Quantize, (In, x)(In, scales)(OptIn, zeroPoints)(Dtype, dtype)(Int32, axis)(CodedOut, out),
      quantize(out, x, scales, zeroPoints, axis))

ACLNN(DynamicQuant, (In, x)(OptIn, smoothScalesOptional)(CodedOut, yOut)(Out, scaleOut),
      dynamic_quant(yOut, scaleOut, nullptr, x, smoothScalesOptional, std::nullopt, true, "pertoken"))
// Asymmetrical if the caller wants an offset.
ACLNN(DynamicQuantV2,
      (In, x)(OptIn, smoothScalesOptional)(OptIndex, groupIndexOptional)(Int, dstType)(CodedOut,
                                                                                       yOut)(Out, scaleOut)(OptOut,
                                                                                                            offsetOut),
      dynamic_quant(typed(yOut, dstType), scaleOut, &offsetOut, x, smoothScalesOptional, groupIndexOptional,
                    !offsetOut.defined(), "pertoken"))
ACLNN(DynamicQuantV3,
      (In, x)(OptIn, smoothScalesOptional)(OptIndex, groupIndexOptional)(Int, dstType)(Bool, isSymmetrical)(
          Text, quantMode)(CodedOut, yOut)(Out, scaleOut)(OptOut, offsetOut),
      dynamic_quant(typed(yOut, dstType), scaleOut, &offsetOut, x, smoothScalesOptional, groupIndexOptional,
                    isSymmetrical, quantMode))
ACLNN(DynamicQuantV4,
      (In, x)(OptIn, smoothScalesOptional)(OptIndex, groupIndexOptional)(Int, dstType)(Bool, isSymmetrical)(
          Text, quantMode)(Float, dstTypeMax)(CodedOut, yOut)(Out, scaleOut)(OptOut, offsetOut),
      dynamic_quant(typed(yOut, dstType), scaleOut, &offsetOut, x, smoothScalesOptional, groupIndexOptional,
                    isSymmetrical, quantMode, dstTypeMax))
