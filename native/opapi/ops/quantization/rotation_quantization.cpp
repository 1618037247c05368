// native/opapi/ops/quantization/rotation_quantization.cpp
// Quantization after multiplication with small matrices, which spreads large values over their neighbours.
#include "opapi/ops/common/group_rows.h"
#include "opapi/ops/common/microscaling.h"

namespace {

bool is_microscaled(const Coded& out) {
  return out.dtype == ACL_FLOAT4_E2M1 || out.dtype == ACL_FLOAT8_E4M3FN || out.dtype == ACL_FLOAT8_E5M2;
}

// [..., n] with pieces of k along the last dimension, each multiplied with the rotation [k, k], or with its own of
// [n / k, k, k].
at::Tensor rotated(const at::Tensor& x, const at::Tensor& rotation) {
  const int64_t k = rotation.size(-1), n = x.size(-1);
  require(rotation.dim() >= 2 && rotation.size(-2) == k && k > 0 && n % k == 0, ACLNN_ERR_PARAM_INVALID,
          "rotation has shape ", rotation.sizes(),
          "; its last dimensions must be equal and divide the last dimension of x, ", n);
  const at::Tensor pieces = x.to(at::kFloat).unflatten(-1, {n / k, k});
  const at::Tensor matrix = rotation.to(at::kFloat);
  const at::Tensor result =
      rotation.dim() == 2 ? at::matmul(pieces, matrix) : at::matmul(pieces.unsqueeze(-2), matrix).squeeze(-2);
  return result.flatten(-2).to(x.scalar_type());
}

// Clamps to a part of the largest magnitude among 32 neighbours.
at::Tensor clipped(const at::Tensor& values, const OptionalTensor& alpha) {
  if (!given(alpha)) return values;
  const auto part = alpha->to(at::kDouble).flatten()[0].item<double>();
  if (part <= 0 || part >= 1) return values;
  const int64_t size = values.size(-1), groups = (size + kMxBlock - 1) / kMxBlock;
  const at::Tensor full = at::constant_pad_nd(values, {0, groups * kMxBlock - size}).unflatten(-1, {groups, kMxBlock});
  const at::Tensor limit = full.abs().amax(-1, /*keepdim=*/true) * part;
  return at::clamp(full, -limit, limit).flatten(-2).narrow(-1, 0, size);
}

void rotate_quant(const at::Tensor& x, const at::Tensor& rotation, const OptionalTensor& alpha, int64_t axis,
                  const std::string& mode, int64_t algorithm, double type_max, bool transposed, Coded& y,
                  at::Tensor& scale) {
  require(at::maybe_wrap_dim(axis, x.dim()) == x.dim() - 1, ACLNN_ERR_PARAM_INVALID, "axis is ", axis,
          "; allowed: the last dimension");
  require(!transposed, ACLNN_ERR_PARAM_INVALID, "trans is true; allowed: false");
  const at::Tensor values = clipped(rotated(x, rotation), alpha);
  if (is_microscaled(y)) {
    store_mx(y, scale, values, -1, mx_rule(y.format(), mode, algorithm, type_max));
    return;
  }
  require(algorithm == 0 && type_max == 0, ACLNN_ERR_PARAM_INVALID, "scaleAlg is ", algorithm, " and dstTypeMax ",
          type_max, " for an output of ", dtype_name(y.dtype), "; they must be 0");
  store_rows(y, scale, values.to(at::kFloat), 0, rounding_of(mode, "roundMode"));
}

void flat_quant(const at::Tensor& x, const at::Tensor& left, const at::Tensor& right, double clip_ratio,
                double type_max, Coded& out, at::Tensor& scale) {
  require(x.dim() == 3, ACLNN_ERR_PARAM_INVALID, "x has ", x.dim(), " dimensions; it must have 3");
  require(clip_ratio > 0 && clip_ratio <= 1, ACLNN_ERR_PARAM_INVALID, "clipRatio is ", clip_ratio,
          "; it must be in (0, 1]");
  at::Tensor values = x.to(at::kFloat);
  if (right.numel() > 0) values = at::matmul(values, right.to(at::kFloat));
  values = at::matmul(left.to(at::kFloat), values).to(x.scalar_type());
  const at::Tensor rows = values.flatten(1).to(at::kFloat);
  if (is_microscaled(out)) {
    store_mx(out, scale, rows, -1, mx_rule(out.format(), "", type_max > 0 ? 2 : 0, type_max));
    return;
  }
  const at::Tensor factor = rows.abs().amax(-1, /*keepdim=*/true) / (out.format().highest / clip_ratio);
  store(out, (rows / factor.masked_fill(factor == 0, 1)).view(x.sizes()));
  scale.copy_(factor.view(scale.sizes()));
}

// Only the matrices that belong to a group are quantized.
void flat_quant_groups(const at::Tensor& x, const at::Tensor& left, const at::Tensor& right,
                       const OptionalTensor& groups, double clip_ratio, double type_max, int64_t list_type, Coded& out,
                       at::Tensor& scale) {
  if (!groups) return flat_quant(x, left, right, clip_ratio, type_max, out, scale);
  require(x.dim() == 3, ACLNN_ERR_PARAM_INVALID, "x has ", x.dim(), " dimensions; it must have 3");
  int64_t used = 0;
  for (const RowGroup& group : row_groups(*groups, x.size(0), group_list(list_type, GroupList::kPairs))) {
    used = std::max(used, group.end);
  }
  Coded part{out.values.narrow(0, 0, used), out.dtype};
  at::Tensor part_scale = scale.narrow(0, 0, used);
  flat_quant(x.narrow(0, 0, used), left, right, clip_ratio, type_max, part, part_scale);
}

}  // namespace

ACLNN(RotateQuant,
      (In, x)(In, rotation)(OptIn, alpha)(Int, axis)(Text, roundMode)(Int, scaleAlg)(Double, dstTypeMax)(Bool, trans)(
          CodedOut, yOut)(Out, scaleOut),
      rotate_quant(x, rotation, alpha, axis, roundMode, scaleAlg, dstTypeMax, trans, yOut, scaleOut))
ACLNN(FlatQuant, (In, x)(In, kroneckerP1)(In, kroneckerP2)(Double, clipRatio)(CodedOut, out)(Out, quantScale),
      flat_quant(x, kroneckerP1, kroneckerP2, clipRatio, 0, out, quantScale))
ACLNN(FlatQuantV2,
      (In, x)(In, kroneckerP1)(In, kroneckerP2)(Double, clipRatio)(Double, dstTypeMax)(CodedOut, out)(Out, quantScale),
      flat_quant(x, kroneckerP1, kroneckerP2, clipRatio, dstTypeMax, out, quantScale))
ACLNN(FlatQuantV3,
      (In, x)(In, kroneckerP1)(In, kroneckerP2)(OptIn, groupListOptional)(Double, clipRatio)(Double, dstTypeMax)(
          Int, groupListType)(CodedOut, out)(Out, quantScale),
      flat_quant_groups(x, kroneckerP1, kroneckerP2, groupListOptional, clipRatio, dstTypeMax, groupListType, out,
                        quantScale))
