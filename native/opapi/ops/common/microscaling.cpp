// native/opapi/ops/common/microscaling.cpp
#include "opapi/ops/common/microscaling.h"

namespace opwright::opapi {

namespace {

constexpr int64_t kMantissaBits = 23, kMantissa = (1 << kMantissaBits) - 1, kNotANumberCode = 255;

at::Tensor filled_up(const at::Tensor& values, int64_t multiple) {
  const int64_t missing = (multiple - values.size(-1) % multiple) % multiple;
  return missing == 0 ? values : at::constant_pad_nd(values, {0, missing});
}

}  // namespace

MxRule mx_rule(const LowFormat& format, const std::string& round_mode, int64_t algorithm, double type_max) {
  const bool byte_float = format.dtype == ACL_FLOAT8_E4M3FN || format.dtype == ACL_FLOAT8_E5M2;
  const bool nibble_float = format.dtype == ACL_FLOAT4_E2M1 || format.dtype == ACL_FLOAT4_E1M2;
  require(byte_float || nibble_float, ACLNN_ERR_PARAM_INVALID, "the quantized output is ", dtype_name(format.dtype),
          "; allowed: float8_e4m3fn, float8_e5m2, float4_e2m1, float4_e1m2");
  const bool possible = algorithm == 0 || (algorithm == 1 && byte_float) || (algorithm == 2 && nibble_float);
  require(possible, ACLNN_ERR_PARAM_INVALID, "scaleAlg is ", algorithm, " for an output of ", dtype_name(format.dtype),
          "; allowed: 0, 1 for 8-bit floats, 2 for 4-bit floats");
  require(algorithm == 2 || type_max == 0, ACLNN_ERR_PARAM_INVALID, "dstTypeMax is ", type_max,
          "; it must be 0 unless scaleAlg is 2");
  const MxRule rule{rounding_of(round_mode, "roundMode"), algorithm, type_max};
  const bool known = rule.rounding == Rounding::kNearestEven ||
                     (nibble_float && (rule.rounding == Rounding::kFloor || rule.rounding == Rounding::kNearestAway));
  require(known, ACLNN_ERR_PARAM_INVALID, "roundMode is '", round_mode, "' for an output of ", dtype_name(format.dtype),
          "; allowed: rint, for 4-bit floats also round and floor");
  return rule;
}

at::Tensor mx_scale_codes(const at::Tensor& largest, const LowFormat& format, const MxRule& rule) {
  at::Tensor bound = largest;
  if (rule.low_bound > 0) bound = bound.clamp_min(rule.low_bound);
  if (rule.algorithm != 0) bound = bound / (rule.type_max > 0 ? rule.type_max : format.highest);
  const at::Tensor bits = bound.contiguous().view(at::kInt);
  const at::Tensor exponent = bits.__rshift__(kMantissaBits).bitwise_and(255);
  const at::Tensor mantissa = bits.bitwise_and(kMantissa);
  at::Tensor codes;
  if (rule.algorithm == 0) {
    codes = (exponent - format.largest_exponent).clamp_min(0);
  } else {
    at::Tensor next = exponent.gt(0).logical_and_(exponent < 254).logical_and_(mantissa > 0);
    if (rule.algorithm == 1) {
      next = next.logical_or(exponent.eq(0).logical_and_(mantissa > (int64_t{1} << (kMantissaBits - 1))));
    }
    codes = exponent + next;
  }
  return codes.masked_fill(exponent == kNotANumberCode, kNotANumberCode).to(at::kByte);
}

at::Tensor mx_scaled(const at::Tensor& values, const at::Tensor& codes, const LowFormat& format, Rounding rounding) {
  const at::Tensor factor = at::ldexp(at::ones({}, at::kFloat), 127 - codes.to(at::kInt));
  // A block with infinity or NaN has no scale; its numbers are zero.
  return rounded((values * factor).masked_fill_(codes == kNotANumberCode, 0), format, rounding);
}

MxQuantized mx_quantized(const at::Tensor& x, int64_t axis, const LowFormat& format, const MxRule& rule) {
  const int64_t size = x.size(axis);
  const at::Tensor rows = filled_up(x.to(at::kFloat).movedim(axis, -1), rule.block);
  const at::Tensor blocks = rows.unflatten(-1, {rows.size(-1) / rule.block, rule.block});
  const at::Tensor codes = mx_scale_codes(blocks.abs().amax(-1), format, rule);
  const at::Tensor values = mx_scaled(blocks, codes.unsqueeze(-1), format, rule.rounding);
  return {values.flatten(-2).narrow(-1, 0, size).movedim(-1, axis), codes.movedim(-1, axis)};
}

at::Tensor paired(const at::Tensor& codes, int64_t axis) {
  const at::Tensor even = filled_up(codes.movedim(axis, -1), 2);
  const at::Tensor pairs = even.unflatten(-1, {even.size(-1) / 2, 2});
  return pairs.movedim(-2, at::maybe_wrap_dim(axis, codes.dim()));
}

at::Tensor spread_scales(const at::Tensor& scale, int64_t axis, int64_t size, int64_t block) {
  const int64_t dims = scale.dim() - 1, dim = at::maybe_wrap_dim(axis, dims);
  const at::Tensor codes = scale.view(at::kByte).movedim(dim, -2).flatten(-2);
  require(codes.size(-1) * block >= size, ACLNN_ERR_PARAM_INVALID, "scales of shape ", scale.sizes(), " are for ",
          codes.size(-1) * block, " numbers along dimension ", dim, ", but there are ", size);
  at::Tensor values = at::ldexp(at::ones({}, at::kFloat), codes.to(at::kInt) - 127);
  values = values.masked_fill(codes == kNotANumberCode, NAN);
  return values.repeat_interleave(block, -1).narrow(-1, 0, size).movedim(-1, dim);
}

void store_codes(at::Tensor& out, const at::Tensor& codes) {
  if (!out.defined()) return;
  at::Tensor bytes = out.view(at::kByte);
  assign(bytes, codes);
}

void store_mx(Coded& out, at::Tensor& scale, const at::Tensor& x, int64_t axis, const MxRule& rule) {
  if (x.numel() == 0) return;
  const MxQuantized result = mx_quantized(x, axis, out.format(), rule);
  store(out, result.values);
  store_codes(scale, paired(result.scales, axis));
}

}  // namespace opwright::opapi
