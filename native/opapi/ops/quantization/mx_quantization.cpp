// native/opapi/ops/quantization/mx_quantization.cpp
// Dynamic quantization to microscaling formats, along one axis, along two, in square blocks, of groups of rows and in
// two levels; and its inverse.
#include "opapi/ops/common/group_rows.h"
#include "opapi/ops/common/microscaling.h"

namespace {

void dynamic_mx_quant(const at::Tensor& x, int64_t axis, const std::string& mode, int64_t block, int64_t algorithm,
                      double type_max, double low_bound, Coded& y, at::Tensor& scale) {
  require(block > 0 && block % kMxBlock == 0 && block <= 1024, ACLNN_ERR_PARAM_INVALID, "blocksize is ", block,
          "; allowed: multiples of 32 up to 1024");
  require(low_bound == 0 || (low_bound > 0 && algorithm == 1), ACLNN_ERR_PARAM_INVALID, "maxLowBound is ", low_bound,
          "; it must be 0, or positive with scaleAlg 1");
  MxRule rule = mx_rule(y.format(), mode, algorithm, type_max);
  rule.block = block;
  rule.low_bound = low_bound;
  store_mx(y, scale, x, axis, rule);
}

void dynamic_mx_quant_both(const at::Tensor& x, const std::string& mode, int64_t algorithm, double type_max, Coded& y1,
                           at::Tensor& scale1, Coded& y2, at::Tensor& scale2) {
  require(x.dim() >= 2, ACLNN_ERR_PARAM_INVALID, "x has ", x.dim(), " dimensions; it must have at least 2");
  store_mx(y1, scale1, x, -1, mx_rule(y1.format(), mode, algorithm, type_max));
  store_mx(y2, scale2, x, -2, mx_rule(y2.format(), mode, algorithm, type_max));
}

// Blocks of 32 x 32 numbers share a scale, which is written for each row of a block and for each column.
void dynamic_block_mx_quant(const at::Tensor& x, const std::string& mode, int64_t algorithm, double type_max, Coded& y,
                            at::Tensor& scale1, at::Tensor& scale2) {
  require(x.dim() == 2 || x.dim() == 3, ACLNN_ERR_PARAM_INVALID, "x has ", x.dim(), " dimensions; allowed: 2, 3");
  if (x.numel() == 0) return;
  const LowFormat& format = y.format();
  const MxRule rule = mx_rule(format, mode, algorithm, type_max);
  const int64_t rows = x.size(-2), columns = x.size(-1);
  const auto missing = [](int64_t size) { return (kMxBlock - size % kMxBlock) % kMxBlock; };
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor full = at::constant_pad_nd(wide, {0, missing(columns), 0, missing(rows)}).abs();
  const at::Tensor largest = full.unflatten(-1, {full.size(-1) / kMxBlock, kMxBlock})
                                 .unflatten(-3, {full.size(-2) / kMxBlock, kMxBlock})
                                 .amax({-3, -1});
  const at::Tensor codes = mx_scale_codes(largest, format, rule);
  const at::Tensor by_row = codes.repeat_interleave(kMxBlock, -2).narrow(-2, 0, rows);
  const at::Tensor by_column = codes.repeat_interleave(kMxBlock, -1).narrow(-1, 0, columns);
  const at::Tensor each = by_row.repeat_interleave(kMxBlock, -1).narrow(-1, 0, columns);
  store(y, mx_scaled(wide, each, format, rule.rounding));
  store_codes(scale1, paired(by_row, -1));
  store_codes(scale2, paired(by_column, -2));
}

// `ends` are the rows at which the groups end. The scales of a group begin where they have room for sure.
void grouped_dynamic_mx_quant(const at::Tensor& x, const at::Tensor& ends, const std::string& mode, int64_t block,
                              int64_t algorithm, double type_max, Coded& y, at::Tensor& scale) {
  MxRule rule = mx_rule(y.format(), mode, algorithm, type_max);
  require(block > 0, ACLNN_ERR_PARAM_INVALID, "blocksize is ", block, "; it must be positive");
  rule.block = block;
  if (x.numel() == 0) return;
  at::Tensor values = at::zeros(x.sizes(), at::kFloat), codes = at::zeros(scale.sizes(), at::kByte);
  store_row_groups(x, row_groups(ends, x.size(0), GroupList::kEnds), y.format(), rule, values, codes);
  store(y, values);
  store_codes(scale, codes);
}

void dynamic_dual_level_mx_quant(const at::Tensor& x, const OptionalTensor& smooth, const std::string& mode,
                                 int64_t block0, int64_t block1, Coded& y, at::Tensor& scale0, at::Tensor& scale1) {
  require(block0 > 0 && block1 == kMxBlock && block0 % block1 == 0, ACLNN_ERR_PARAM_INVALID, "level0BlockSize is ",
          block0, " and level1BlockSize ", block1, "; allowed: multiples of 32, and 32");
  if (x.numel() == 0) return;
  at::Tensor wide = x.to(at::kFloat);
  if (smooth) wide = wide * smooth->to(at::kFloat);
  const int64_t size = x.size(-1), blocks = (size + block0 - 1) / block0;
  const at::Tensor full = at::constant_pad_nd(wide, {0, blocks * block0 - size}).unflatten(-1, {blocks, block0});
  const at::Tensor factor = full.abs().amax(-1) / y.format().highest;
  const at::Tensor divisor = factor.masked_fill(factor == 0, 1).unsqueeze(-1);
  const at::Tensor level1 = (full / divisor).flatten(-2).narrow(-1, 0, size).to(x.scalar_type());
  store_mx(y, scale1, level1, -1, mx_rule(y.format(), mode, 0));
  assign(scale0, factor);
}

void anti_mx_quant(const at::Tensor& x, const at::Tensor& scale, int64_t axis, at::Tensor& y) {
  if (x.numel() == 0) return;
  const int64_t dim = at::maybe_wrap_dim(axis, x.dim());
  assign(y, x.to(at::kFloat) * spread_scales(scale, dim, x.size(dim)));
}

}  // namespace

ACLNN(DynamicMxQuant,
      (In, x)(Int, axis)(Text, roundModeOptional)(Int, dstType)(Int, blocksize)(Int, scaleAlg)(CodedOut,
                                                                                               yOut)(Out, mxscaleOut),
      dynamic_mx_quant(x, axis, roundModeOptional, blocksize, scaleAlg, 0, 0, typed(yOut, dstType), mxscaleOut))
ACLNN(DynamicMxQuantV2,
      (In, x)(Int, axis)(Text, roundModeOptional)(Int, dstType)(Int, blocksize)(Int, scaleAlg)(Double, dstTypeMax)(
          CodedOut, yOut)(Out, mxscaleOut),
      dynamic_mx_quant(x, axis, roundModeOptional, blocksize, scaleAlg, dstTypeMax, 0, typed(yOut, dstType),
                       mxscaleOut))
ACLNN(DynamicMxQuantV3,
      (In, x)(Int, axis)(Text, roundModeOptional)(Int, dstType)(Int, blocksize)(Int, scaleAlg)(Double, dstTypeMax)(
          Double, maxLowBound)(CodedOut, yOut)(Out, mxscaleOut),
      dynamic_mx_quant(x, axis, roundModeOptional, blocksize, scaleAlg, dstTypeMax, maxLowBound, typed(yOut, dstType),
                       mxscaleOut))
ACLNN(DynamicMxQuantWithDualAxis,
      (In, x)(Text, roundModeOptional)(Int, dstType)(Int, scaleAlg)(CodedOut,
                                                                    y1Out)(Out, mxscale1Out)(CodedOut,
                                                                                             y2Out)(Out, mxscale2Out),
      dynamic_mx_quant_both(x, roundModeOptional, scaleAlg, 0, typed(y1Out, dstType), mxscale1Out,
                            typed(y2Out, dstType), mxscale2Out))
ACLNN(DynamicMxQuantWithDualAxisV2,
      (In, x)(Text, roundModeOptional)(Int, dstType)(Int, scaleAlg)(Double, dstTypeMax)(CodedOut, y1Out)(
          Out, mxscale1Out)(CodedOut, y2Out)(Out, mxscale2Out),
      dynamic_mx_quant_both(x, roundModeOptional, scaleAlg, dstTypeMax, typed(y1Out, dstType), mxscale1Out,
                            typed(y2Out, dstType), mxscale2Out))
ACLNN(DynamicBlockMxQuant,
      (In, x)(Text, roundModeOptional)(Int, dstType)(Int, scaleAlg)(Double,
                                                                    dstTypeMax)(CodedOut,
                                                                                yOut)(Out, scale1Out)(Out, scale2Out),
      dynamic_block_mx_quant(x, roundModeOptional, scaleAlg, dstTypeMax, typed(yOut, dstType), scale1Out, scale2Out))
ACLNN(GroupedDynamicMxQuant,
      (In, x)(Index, groupIndex)(Text, roundMode)(Int, dstType)(Int, blocksize)(CodedOut, y)(Out, mxscale),
      grouped_dynamic_mx_quant(x, groupIndex, roundMode, blocksize, 0, 0, typed(y, dstType), mxscale))
ACLNN(GroupedDynamicMxQuantV2,
      (In, x)(Index, groupIndex)(Text, roundMode)(Int, dstType)(Int, blocksize)(Int, scaleAlg)(Double, dstTypeMax)(
          CodedOut, y)(Out, mxscale),
      grouped_dynamic_mx_quant(x, groupIndex, roundMode, blocksize, scaleAlg, dstTypeMax, typed(y, dstType), mxscale))
ACLNN(DynamicDualLevelMxQuant,
      (In, x)(OptIn, smoothScaleOptional)(Text, roundModeOptional)(Int, level0BlockSize)(Int, level1BlockSize)(
          CodedOut, yOut)(Out, level0ScaleOut)(Out, level1ScaleOut),
      dynamic_dual_level_mx_quant(x, smoothScaleOptional, roundModeOptional, level0BlockSize, level1BlockSize, yOut,
                                  level0ScaleOut, level1ScaleOut))
ACLNN(AntiMxQuant, (CodedIn, x)(In, mxscale)(Int, axis)(DtypeInt, dstType)(Out, y),
      anti_mx_quant(x, mxscale, axis, typed(y, dstType)))
