// native/opapi/ops/matmul/quant_matmul.cpp
#include "opapi/ops/matmul/quant_matmul.h"

#include "opapi/ops/common/refusal.h"

namespace opwright::opapi {

namespace {

constexpr int64_t kBlock = 128, kGroupBits = 16, kGroupMask = 0xFFFF;

// With weights of 4 bits the device multiplies the upper and the lower half of x1 by themselves, the lower one as a
// signed number: less by 8. The caller makes up for it: yOffset is 8 times the sum of each column of the weight.
constexpr int64_t kNibbleShift = 8;

bool is_microscale(const at::Tensor& scale) { return scale.scalar_type() == at::kFloat8_e8m0fnu; }

// Values for `size` elements of `dim`, each for a block of them.
at::Tensor spread(const at::Tensor& scale, int64_t dim, int64_t size, int64_t block, const char* name) {
  const int64_t count = scale.size(dim);
  if (count == size || count == 1) return scale;
  const int64_t each = block > 0                                                 ? block
                       : (count * kBlock >= size && (count - 1) * kBlock < size) ? kBlock
                                                                                 : size / std::max<int64_t>(count, 1);
  require(each > 0 && count * each >= size, ACLNN_ERR_PARAM_INVALID, name, " has ", count, " values for the ", size,
          " elements of a dimension, in groups of ", each);
  return scale.repeat_interleave(each, dim).narrow(dim, 0, size);
}

// An operand as [..., rows, columns] whose summed dimension is `inner` (-1 or -2), and its scales.
struct Operand {
  at::Tensor values;
  at::Tensor after;  // multiplies the sums; undefined if there is nothing to multiply with
};

struct Layout {
  bool transposed;
  int64_t inner, outer;              // dimensions -1 and -2, in the order of the operand
  int64_t inner_group, outer_group;  // 0: not given
  const char* name;
};

// `offset` has the shape of a scale that changes along the summed dimension.
Operand scaled_operand(const at::Tensor& values, const OptionalTensor& scale, const OptionalTensor& offset,
                       const Layout& layout) {
  if (!scale) return {values, {}};
  const int64_t k = values.size(layout.inner), rows = values.size(layout.outer);
  if (is_microscale(*scale)) {
    const int64_t stored_axis = layout.transposed == (layout.inner == -1) ? -2 : -1;
    const bool pairs = scale->dim() == values.dim() + 1;
    const at::Tensor stored = pairs ? *scale : paired(scale->view(at::kByte), stored_axis);
    const at::Tensor factors = spread_scales(stored, stored_axis, k);
    return {values * (layout.transposed ? factors.transpose(-1, -2) : factors), {}};
  }
  at::Tensor factors = scale_of(*scale).to(values.scalar_type());
  if (factors.dim() <= 1) {
    require(factors.numel() == 1 || factors.numel() == rows, ACLNN_ERR_PARAM_INVALID, layout.name, " has ",
            factors.numel(), " values; allowed: 1, ", rows);
    return {values, layout.inner == -1 ? factors.reshape({-1, 1}) : factors.reshape({1, -1})};
  }
  const bool fits = factors.size(layout.outer) == rows;  // scales of groups have this order for both forms of x2
  if (layout.transposed && !fits) factors = factors.transpose(-1, -2);
  if (factors.size(layout.inner) == 1 && !offset) {
    return {values, spread(factors, layout.outer, rows, layout.outer_group, layout.name)};
  }
  const auto full = [&](const at::Tensor& groups) {
    return spread(spread(groups, layout.inner, k, layout.inner_group, layout.name), layout.outer, rows,
                  layout.outer_group, layout.name);
  };
  return {(offset ? values - full(offset->to(values.scalar_type())) : values) * full(factors), {}};
}

}  // namespace

at::Tensor quant_product(const QuantMatmul& call, bool unscaled) {
  const at::Tensor left = unpacked(call.transpose1 ? call.x1.transpose(-1, -2) : call.x1);
  const at::Tensor right = unpacked_weight(call.transpose2 ? call.x2.transpose(-1, -2) : call.x2, left.size(-1));
  require(left.size(-1) == right.size(-2), ACLNN_ERR_PARAM_INVALID, "x1 has ", left.size(-1), " columns and x2 ",
          right.size(-2), " rows");
  const bool integers = !left.is_floating_point() && !right.is_floating_point();
  const at::ScalarType dtype = integers ? at::kDouble : at::kFloat;  // double holds every sum of integers
  const OptionalTensor bias = given(call.bias);
  if (unscaled) {
    const at::Tensor sums = at::matmul(left.to(dtype), right.to(dtype));
    return bias ? sums + bias->to(dtype) : sums;
  }
  const OptionalTensor scale2 = given(call.x2_scale), offset2 = given(call.x2_offset);
  const int64_t group_k = call.group_size & kGroupMask, group_n = (call.group_size >> kGroupBits) & kGroupMask,
                group_m = (call.group_size >> (2 * kGroupBits)) & kGroupMask;
  const bool grouped_offset = offset2 && offset2->dim() > 1 && scale2 && scale2->sizes() == offset2->sizes();
  const OptionalTensor y_offset = given(call.y_offset);
  const bool by_halves = y_offset && call.x1.scalar_type() == at::kChar && call.x2.scalar_type() == at::kInt;
  const at::Tensor shifted = by_halves ? left.to(dtype) - kNibbleShift : left.to(dtype);
  const Operand a = scaled_operand(shifted, given(call.x1_scale), std::nullopt,
                                   {call.transpose1, -1, -2, group_k, group_m, "x1Scale"});
  const Operand b = scaled_operand(right.to(dtype), scale2, grouped_offset ? offset2 : std::nullopt,
                                   {call.transpose2, -2, -1, group_k, group_n, "x2Scale"});
  at::Tensor product = at::matmul(a.values, b.values);
  const bool bias_first =
      bias && (bias->scalar_type() == at::kInt || (scale2 && is_packed_scale(*scale2) && !call.x1_scale));
  if (bias_first) product = product + bias->to(dtype);
  if (b.after.defined()) product = product * b.after;
  if (y_offset) product = product + y_offset->to(dtype);
  if (a.after.defined()) product = product * a.after;
  if (const OptionalTensor scale = given(call.y_scale)) product = product * scale_of(*scale).to(dtype);
  if (bias && !bias_first) product = product + bias->to(dtype);
  if (offset2 && !grouped_offset) product = product + offset2->to(dtype);
  return product;
}

at::Tensor quantized_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& weight_scale,
                             const DequantOperands& operands) {
  const OptionalTensor given_scale = given(operands.x_scale), smooth = given(operands.smooth);
  require(operands.mode == "pertoken" || operands.mode == "pertensor", ACLNN_ERR_PARAM_INVALID, "xQuantMode is '",
          operands.mode, "'; allowed: pertoken, pertensor");
  refuse({{operands.x_offset, "xOffset"}});
  require(given_scale || operands.mode == "pertoken", ACLNN_ERR_PARAM_INVALID,
          "xQuantMode is pertensor without xScaleOptional; dynamic quantization is by token only");
  const LowFormat& format = low_format(ACL_INT8);
  at::Tensor values = x.to(at::kFloat);
  if (smooth) values = values * smooth->to(at::kFloat);
  const at::Tensor scale = given_scale ? given_scale->to(at::kFloat).reshape({-1, 1})
                                       : values.abs().amax(-1, /*keepdim=*/true) / format.highest;
  const at::Tensor whole = rounded(values / scale.masked_fill(scale == 0, 1), format);
  const at::Tensor matrix = unpacked_weight(operands.transposed ? weight.transpose(-1, -2) : weight, x.size(-1));
  at::Tensor sums = at::matmul(whole.to(at::kDouble), matrix.to(at::kDouble));
  if (const OptionalTensor bias = given(operands.bias)) sums = sums + bias->to(at::kDouble);
  // A scale of 64 bits holds a float32 that is already multiplied with the scale of x.
  const bool combined = weight_scale.scalar_type() == at::kLong;
  const at::Tensor factor =
      combined ? weight_scale.contiguous().to(at::kInt).view(at::kFloat) : weight_scale.to(at::kFloat);
  return combined ? sums * factor : sums * factor * scale;
}

void store_product(Coded& out, const at::Tensor& product) {
  const aclDataType dtype = out.dtype;
  const bool quantized =
      dtype == ACL_INT8 || dtype == ACL_FLOAT8_E4M3FN || dtype == ACL_FLOAT8_E5M2 || dtype == ACL_HIFLOAT8;
  if (quantized) {
    store(out, product.to(at::kFloat));
  } else {
    assign(out.values, product);
  }
}

}  // namespace opwright::opapi
