// native/opapi/ops/matmul/quant_matmul_functions.cpp
// Products of quantized matrices, and scales in the form that they take.
#include "opapi/ops/common/refusal.h"
#include "opapi/ops/matmul/quant_matmul.h"

namespace {

constexpr const char* kReserved = "it is reserved";

// Of functions that take their groups, if any, from the shapes of the scales; torch_npu passes -1 too.
void refuse_group_size(int64_t group_size) {
  require(group_size == 0 || group_size == -1, ACLNN_ERR_PARAM_INVALID, "parameter 'groupSize' is ", group_size,
          "; allowed: 0 (reserved)");
}

void quant_matmul(const QuantMatmul& call, const OptionalTensor& x1_offset, Coded& out) {
  refuse({{x1_offset, "x1Offset"}}, kReserved);
  const bool unscaled = out.dtype == ACL_INT32;
  QuantMatmul complete = call;
  const OptionalTensor scale = given(call.x2_scale);
  if (out.dtype == ACL_INT8 && scale && is_packed_scale(*scale) && !given(call.x2_offset)) {
    complete.x2_offset = offset_of(*scale);
  }
  store_product(out, quant_product(complete, unscaled));
}

// Older functions take as many scales as there are columns in whole blocks of 16.
at::Tensor scales_of_columns(const at::Tensor& scale, int64_t columns) {
  return scale.dim() == 1 && scale.numel() > columns ? scale.narrow(0, 0, columns) : scale;
}

// float16 factors, int8 product: scaled and moved by the packed parameter.
void batch_matmul_quant(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& parameter,
                        const OptionalTensor& bias, bool transpose1, bool transpose2, Coded& out) {
  const at::Tensor left = transpose1 ? x1.transpose(-1, -2) : x1, right = transpose2 ? x2.transpose(-1, -2) : x2;
  require(is_packed_scale(parameter), ACLNN_ERR_PARAM_INVALID, "quantParam is ", parameter.scalar_type(),
          "; allowed: uint64, as aclnnTransQuantParam makes it");
  const at::Tensor scales = scales_of_columns(parameter, right.size(-1));
  at::Tensor product = at::matmul(left.to(at::kFloat), right.to(at::kFloat));
  if (const OptionalTensor added = given(bias)) product = product + *added;
  store(out, product * scale_of(scales) + offset_of(scales));
}

// The sums are whole numbers, which float64 holds.
void scaled_product(const at::Tensor& x1, const at::Tensor& x2, const OptionalTensor& bias, double scale,
                    at::Tensor& out) {
  require(x1.scalar_type() == at::kChar && x2.scalar_type() == at::kChar, ACLNN_ERR_PARAM_INVALID, "x1 and x2 are ",
          x1.scalar_type(), " and ", x2.scalar_type(), "; allowed: int8 each");
  require(x1.dim() == x2.dim() && (x1.dim() == 2 || x1.dim() == 3), ACLNN_ERR_PARAM_INVALID, "x1 and x2 have ",
          x1.dim(), " and ", x2.dim(), " dimensions; allowed: 2 or 3, the same number");
  require(!given(bias) || bias->numel() == x2.size(-1), ACLNN_ERR_PARAM_INVALID, "bias has ", bias ? bias->numel() : 0,
          " elements; it must have one for each of the ", x2.size(-1), " columns of x2");
  at::Tensor product = at::matmul(x1.to(at::kDouble), x2.to(at::kDouble));
  if (given(bias)) product.add_(*bias);
  assign(out, product.mul_(scale));
}

// The halves of a float32 weight: its bfloat16, and what that misses.
void split_weight_product(const at::Tensor& x, const at::Tensor& high, const at::Tensor& low, double scale,
                          int64_t dtype, at::Tensor& out) {
  constexpr double kOnlyScale = 1.0 / 256;
  require(scale == kOnlyScale, ACLNN_ERR_PARAM_INVALID, "wLowScale is ", scale, "; allowed: ", kOnlyScale);
  require(dtype == 0, ACLNN_ERR_PARAM_INVALID, "yDtype is ", dtype, "; allowed: 0 (float32)");
  require(high.sizes() == low.sizes(), ACLNN_ERR_PARAM_INVALID, "wHigh and wLow have the shapes ", high.sizes(),
          " and ", low.sizes(), "; allowed: one shape for both");
  const at::Tensor left = to_float(x);
  assign(out, at::matmul(left, to_float(high)).add_(at::matmul(left, to_float(low)), scale));
}

// (x1 @ dequantized x2) + bias. The other parameters hold the same numbers in the form of another chip's path.
void weight_quant_batch_matmul(const at::Tensor& x1, const at::Tensor& x2, const OptionalTensor& offset,
                               const OptionalTensor& scale, const OptionalTensor& bias, bool transpose1,
                               bool transpose2, Coded& out) {
  at::Tensor weight = (transpose2 ? x2.transpose(-1, -2) : x2).to(at::kFloat);
  const auto along_columns = [&](const at::Tensor& values) {
    return values.dim() == 2 && values.size(1) == 1 ? values.t() : values;
  };
  if (const OptionalTensor added = given(offset)) weight = weight + along_columns(added->to(at::kFloat));
  if (const OptionalTensor factor = given(scale)) weight = weight * along_columns(factor->to(at::kFloat));
  at::Tensor product = at::matmul((transpose1 ? x1.transpose(-1, -2) : x1).to(at::kFloat), weight);
  if (const OptionalTensor added = given(bias)) product = product + *added;
  store_product(out, product);
}

// 4-bit integers in 32 bits each become dense.
void pack_weight(Coded& out, const at::Tensor& weight) {
  require(weight.scalar_type() == at::kInt, ACLNN_ERR_PARAM_INVALID, "weight is ", weight.scalar_type(),
          "; allowed: int32, a 4-bit integer in each");
  require(out.dtype == ACL_INT4 || out.dtype == ACL_INT32, ACLNN_ERR_PARAM_INVALID, "weightInt4Pack is ",
          dtype_name(out.dtype), "; allowed: int4, int32");
  store(out, weight.to(at::kFloat));
}

// Bits 13 to 31 of a float32, bit 46, and a signed offset in bits 37 to 45. The numbers are the host's, and so is the
// result, which the caller frees with free().
void pack_parameters(const float* scales, uint64_t scale_count, const float* offsets, uint64_t offset_count,
                     uint64_t** parameters, uint64_t* count) {
  uint64_t*& result = ::opwright::out(parameters, "quantParam", ACLNN_ERR_PARAM_NULLPTR);
  uint64_t& result_count = ::opwright::out(count, "quantParamSize", ACLNN_ERR_PARAM_NULLPTR);
  require(scales != nullptr, ACLNN_ERR_PARAM_NULLPTR, "parameter 'scaleArray' is null");
  require(scale_count > 0, ACLNN_ERR_PARAM_INVALID, "scaleSize is 0; allowed: 1 and more");
  require((offsets == nullptr) == (offset_count == 0), ACLNN_ERR_PARAM_INVALID, "offsetSize is ", offset_count,
          offsets == nullptr ? " without an offsetArray; allowed: 0" : "; allowed: 1 and more");
  require(scale_count == 1 || offset_count <= 1 || scale_count == offset_count, ACLNN_ERR_PARAM_INVALID, "there are ",
          scale_count, " scales and ", offset_count, " offsets; allowed: as many, or one of either");
  const auto values = [](const float* from, uint64_t number) {
    at::Tensor copy = at::empty({static_cast<int64_t>(number)}, at::kFloat);
    std::memcpy(copy.mutable_data_ptr(), from, number * sizeof(float));
    return copy;
  };
  const OptionalTensor offset = offsets == nullptr ? kNone : OptionalTensor(values(offsets, offset_count));
  const at::Tensor packed = packed_scale(values(scales, scale_count), offset, /*rounded=*/false).contiguous();
  const auto number = static_cast<uint64_t>(packed.numel());
  auto* const memory = static_cast<uint64_t*>(std::malloc(number * sizeof(uint64_t)));
  require(memory != nullptr, ACLNN_ERR_INNER, "there is no memory for ", number, " parameters");
  std::memcpy(memory, packed.const_data_ptr(), number * sizeof(uint64_t));
  result = memory;
  result_count = number;
}

void fused_quant_matmul(const QuantMatmul& call, std::initializer_list<NamedTensor> reserved, int64_t group_size,
                        const std::string& operation, Coded& out) {
  refuse(reserved, kReserved);
  refuse_group_size(group_size);
  require(operation == "gelu_tanh" || operation == "gelu_erf", ACLNN_ERR_PARAM_INVALID, "fusedOpType is '", operation,
          "'; allowed: gelu_tanh, gelu_erf");
  const at::Tensor product = quant_product(call, /*unscaled=*/false).to(at::kFloat);
  store_product(out, at::gelu(product, operation == "gelu_tanh" ? "tanh" : "none"));
}

void quant_matmul_reduce_sum(const QuantMatmul& call, std::initializer_list<NamedTensor> reserved, int64_t group_size,
                             at::IntArrayRef dims, bool keep_dims, at::Tensor& out) {
  refuse(reserved, kReserved);
  refuse_group_size(group_size);
  require(dims.size() == 1 && dims[0] == 0, ACLNN_ERR_PARAM_INVALID, "dims is ", dims, "; allowed: [0]");
  QuantMatmul unscaled = call;
  unscaled.x1_scale = std::nullopt;
  at::Tensor product = quant_product(unscaled, /*unscaled=*/false);
  if (const OptionalTensor scale = given(call.x1_scale)) product = product * scale->to(at::kDouble).unsqueeze(-1);
  assign(out, product.sum(dims, keep_dims));
}

void quant_matmul_inplace_add(const QuantMatmul& call, at::Tensor& y) {
  const at::Tensor product = quant_product(call, /*unscaled=*/false);
  require(product.sizes() == y.sizes(), ACLNN_ERR_PARAM_INVALID, "yRef has shape ", y.sizes(), ", the product ",
          product.sizes());
  y.add_(product);
}

void transpose_quant_batch_matmul(const at::Tensor& x1, const at::Tensor& x2, const OptionalTensor& bias,
                                  const OptionalTensor& scale1, const OptionalTensor& scale2, int64_t group_size,
                                  at::IntArrayRef perm1, at::IntArrayRef perm2, at::IntArrayRef perm_y, int64_t split,
                                  Coded& out) {
  require(perm1 == at::IntArrayRef{1, 0, 2}, ACLNN_ERR_PARAM_INVALID, "permX1 is ", perm1, "; allowed: [1, 0, 2]");
  require(perm2 == at::IntArrayRef{0, 1, 2} || perm2 == at::IntArrayRef{0, 2, 1}, ACLNN_ERR_PARAM_INVALID, "permX2 is ",
          perm2, "; allowed: [0, 1, 2], [0, 2, 1]");
  require(perm_y == at::IntArrayRef{1, 0, 2}, ACLNN_ERR_PARAM_INVALID, "permY is ", perm_y, "; allowed: [1, 0, 2]");
  refuse({{bias, "bias"}}, kReserved);
  QuantMatmul call{.x1 = x1.permute(perm1), .x2 = x2.permute(perm2), .group_size = group_size};
  const auto permuted = [](const OptionalTensor& scale, at::IntArrayRef perm) -> OptionalTensor {
    if (!given(scale) || scale->dim() != 4) return given(scale);
    return scale->permute({perm[0], perm[1], perm[2], 3});
  };
  call.x1_scale = permuted(scale1, perm1);
  call.x2_scale = permuted(scale2, perm2);
  at::Tensor result = quant_product(call, /*unscaled=*/false).permute(perm_y);
  if (split > 1) {
    const int64_t rows = result.size(0), columns = result.size(1) * result.size(2);
    require(columns % split == 0, ACLNN_ERR_PARAM_INVALID, "batchSplitFactor is ", split, "; it must divide the ",
            columns, " values of a row");
    result = result.reshape({rows, split, columns / split}).transpose(0, 1);
  }
  store_product(out, result);
}

void dual_level_quant_matmul(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& level0_scale1,
                             const at::Tensor& level0_scale2, const at::Tensor& level1_scale1,
                             const at::Tensor& level1_scale2, const OptionalTensor& bias, bool transpose1,
                             bool transpose2, int64_t group0, int64_t group1, at::Tensor& out) {
  require(!transpose1 && transpose2, ACLNN_ERR_PARAM_INVALID,
          "transposeX1 and transposeX2 must be false and true: x1 is [m, k], x2 is [n, k]");
  require(group0 > 0 && group1 == kMxBlock, ACLNN_ERR_PARAM_INVALID, "level0GroupSize is ", group0,
          " and level1GroupSize ", group1, "; they must be positive and 32");
  const int64_t k = x1.size(-1), n = out.size(-1);
  const at::Tensor right = x2.scalar_type() == at::kFloat ? unpack_float4(x2) : x2;
  const auto groups = [&](const at::Tensor& scale, int64_t rows) {  // [rows, groups], for x2 also the other way round
    const at::Tensor by_row = scale.size(0) == rows ? scale : scale.t();
    return by_row.to(at::kFloat).repeat_interleave(group0, -1).narrow(-1, 0, k);
  };
  const at::Tensor a = x1 * spread_scales(level1_scale1, -1, k) * groups(level0_scale1, x1.size(0));
  const at::Tensor b = right * spread_scales(level1_scale2, -1, k) * groups(level0_scale2, n);
  const at::Tensor product = at::matmul(a, b.t());
  assign(out, given(bias) ? product + bias->to(at::kFloat) : product);
}

void trans_quant_param(const at::Tensor& scale, const OptionalTensor& offset, int64_t mode, at::Tensor& out) {
  require(mode == 0 || mode == 1, ACLNN_ERR_PARAM_INVALID, "roundMode is ", mode, "; allowed: 0, 1");
  const at::Tensor result = packed_scale(scale, offset, mode == 1);
  at::Tensor bits = out.scalar_type() == at::kUInt64 ? out.view(at::kLong) : out;
  assign(bits, result.expand(bits.sizes()));
}

}  // namespace

ACLNN(QuantMatmul, (In, x1)(In, x2)(OptIn, bias)(Float, deqScale)(Out, out),
      scaled_product(x1, x2, bias, deqScale, out))
ACLNN(MatmulEmuSplitWeight, (In, x)(In, wHigh)(In, wLow)(Out, y)(Float, wLowScale)(Int8, yDtype),
      split_weight_product(x, wHigh, wLow, wLowScale, yDtype, y))
#define OPWRIGHT_QUANT_MATMUL(NAME)                                                                                    \
  ACLNN(NAME,                                                                                                          \
        (CodedIn, x1)(CodedIn, x2)(OptIn, x1Scale)(OptIn, x2Scale)(OptIn, yScale)(OptIn, x1Offset)(OptIn, x2Offset)(   \
            OptIn, yOffset)(OptIn, bias)(Bool, transposeX1)(Bool, transposeX2)(Int, groupSize)(CodedOut, out),         \
        quant_matmul({x1, x2, x1Scale, x2Scale, yScale, x2Offset, yOffset, bias, transposeX1, transposeX2, groupSize}, \
                     x1Offset, out))
OPWRIGHT_QUANT_MATMUL(QuantMatmulV5)
OPWRIGHT_QUANT_MATMUL(QuantMatmulWeightNz)

#define OPWRIGHT_FUSED_QUANT_MATMUL(NAME)                                                                           \
  ACLNN(NAME,                                                                                                       \
        (CodedIn, x1)(CodedIn, x2)(OptIn, x1Scale)(OptIn, x2Scale)(OptIn, yScaleOptional)(OptIn, x1OffsetOptional)( \
            OptIn, x2OffsetOptional)(OptIn, yOffsetOptional)(OptIn, biasOptional)(OptIn, x3Optional)(               \
            Text, fusedOpType)(Int, groupSizeOptional)(CodedOut, out),                                              \
        fused_quant_matmul({.x1 = x1, .x2 = x2, .x1_scale = x1Scale, .x2_scale = x2Scale, .bias = biasOptional},    \
                           {{yScaleOptional, "yScale"},                                                             \
                            {x1OffsetOptional, "x1Offset"},                                                         \
                            {x2OffsetOptional, "x2Offset"},                                                         \
                            {yOffsetOptional, "yOffset"},                                                           \
                            {x3Optional, "x3"}},                                                                    \
                           groupSizeOptional, fusedOpType, out))
OPWRIGHT_FUSED_QUANT_MATMUL(FusedQuantMatmul)
OPWRIGHT_FUSED_QUANT_MATMUL(FusedQuantMatmulWeightNz)

ACLNN(QuantMatmulReduceSumWeightNz,
      (In, x1)(In, x2)(OptIn, x1Scale)(OptIn, x2Scale)(OptIn, yScale)(OptIn, x1Offset)(OptIn, x2Offset)(OptIn, yOffset)(
          OptIn, bias)(Bool, transposeX1)(Bool, transposeX2)(Int, groupSize)(Ints, dims)(Bool, keepDims)(Out, out),
      quant_matmul_reduce_sum(
          {.x1 = x1,
           .x2 = x2,
           .x1_scale = x1Scale,
           .x2_scale = x2Scale,
           .transpose1 = transposeX1,
           .transpose2 = transposeX2},
          {{yScale, "yScale"}, {x1Offset, "x1Offset"}, {x2Offset, "x2Offset"}, {yOffset, "yOffset"}, {bias, "bias"}},
          groupSize, dims, keepDims, out))
ACLNN(QuantBatchMatmulInplaceAdd,
      (CodedIn, x1)(CodedIn,
                    x2)(OptIn, x1ScaleOptional)(In, x2Scale)(Ref, yRef)(Bool, transposeX1)(Bool,
                                                                                           transposeX2)(Int, groupSize),
      quant_matmul_inplace_add({.x1 = x1,
                                .x2 = x2,
                                .x1_scale = x1ScaleOptional,
                                .x2_scale = x2Scale,
                                .transpose1 = transposeX1,
                                .transpose2 = transposeX2,
                                .group_size = groupSize},
                               yRef))

#define OPWRIGHT_TRANSPOSE_QUANT_BATCH_MATMUL(NAME)                                                            \
  ACLNN(NAME,                                                                                                  \
        (CodedIn, x1)(CodedIn, x2)(OptIn, bias)(OptIn, x1Scale)(OptIn, x2Scale)(Int32, dtype)(Int, groupSize)( \
            Ints, permX1)(Ints, permX2)(Ints, permY)(Int32, batchSplitFactor)(CodedOut, out),                  \
        transpose_quant_batch_matmul(x1, x2, bias, x1Scale, x2Scale, groupSize, permX1, permX2, permY,         \
                                     batchSplitFactor, typed(out, dtype, "dtype")))
OPWRIGHT_TRANSPOSE_QUANT_BATCH_MATMUL(TransposeQuantBatchMatMul)
OPWRIGHT_TRANSPOSE_QUANT_BATCH_MATMUL(TransposeQuantBatchMatMulWeightNz)

ACLNN(QuantMatmulDequant,
      (In, x)(In, weight)(In, weightScale)(OptIn, biasOptional)(OptIn, xScaleOptional)(OptIn, xOffsetOptional)(
          OptIn, smoothScaleOptional)(Text, xQuantMode)(Bool, transposeWeight)(Out, out),
      assign(out, quantized_product(x, weight, weightScale,
                                    {biasOptional, xScaleOptional, xOffsetOptional, smoothScaleOptional, xQuantMode,
                                     transposeWeight})))
ACLNN(DualLevelQuantMatmulWeightNz,
      (CodedIn, x1)(CodedIn, x2)(In, x1Level0Scale)(In, x2Level0Scale)(In, x1Level1Scale)(In, x2Level1Scale)(
          OptIn, optionalBias)(Bool, transposeX1)(Bool, transposeX2)(Int, level0GroupSize)(Int, level1GroupSize)(Out,
                                                                                                                 out),
      dual_level_quant_matmul(x1, x2, x1Level0Scale, x2Level0Scale, x1Level1Scale, x2Level1Scale, optionalBias,
                              transposeX1, transposeX2, level0GroupSize, level1GroupSize, out))
ACLNN(TransQuantParamV2, (In, scale)(OptIn, offset)(Out, out), trans_quant_param(scale, offset, 0, out))
ACLNN(TransQuantParamV3, (In, scale)(OptIn, offset)(Int, roundMode)(Out, out),
      trans_quant_param(scale, offset, roundMode, out))
ACLNN(QuantMatmulV2, (In, x1)(In, x2)(OptIn, bias)(In, deqScale)(Bool, adjX1)(Bool, adjX2)(CodedOut, out),
      quant_matmul({.x1 = x1,
                    .x2 = x2,
                    .x2_scale = scales_of_columns(deqScale, x2.size(adjX2 ? -2 : -1)),
                    .bias = bias,
                    .transpose1 = adjX1,
                    .transpose2 = adjX2},
                   kNone, out))
ACLNN(QuantMatmulV3,
      (CodedIn, x1)(CodedIn, x2)(In, scale)(OptIn, offset)(OptIn, bias)(Bool, transposeX1)(Bool, transposeX2)(CodedOut,
                                                                                                              out),
      quant_matmul({.x1 = x1,
                    .x2 = x2,
                    .x2_scale = scale,
                    .x2_offset = offset,
                    .bias = bias,
                    .transpose1 = transposeX1,
                    .transpose2 = transposeX2},
                   kNone, out))
ACLNN(QuantMatmulV4,
      (CodedIn, x1)(CodedIn, x2)(In, scale)(OptIn, offset)(OptIn, pertokenScaleOptional)(OptIn, bias)(
          Bool, transposeX1)(Bool, transposeX2)(CodedOut, out),
      quant_matmul({.x1 = x1,
                    .x2 = x2,
                    .x1_scale = pertokenScaleOptional,
                    .x2_scale = scale,
                    .x2_offset = offset,
                    .bias = bias,
                    .transpose1 = transposeX1,
                    .transpose2 = transposeX2},
                   kNone, out))
ACLNN(BatchMatmulQuant,
      (In, x1)(In, x2)(In, quantParam)(OptIn, bias)(Bool, transposeX1)(Bool, transposeX2)(CodedOut, out),
      batch_matmul_quant(x1, x2, quantParam, bias, transposeX1, transposeX2, out))
ACLNN(WeightQuantBatchMatmul,
      (In, x1)(In, x2)(OptIn, diagonalMatrix)(OptIn, deqOffset)(OptIn, deqScale)(OptIn, addOffset)(OptIn, mulScale)(
          OptIn, bias)(Bool, transposeX1)(Bool, transposeX2)(Float, antiquantScale)(Float, antiquantOffset)(CodedOut,
                                                                                                            out),
      weight_quant_batch_matmul(x1, x2, addOffset, mulScale, bias, transposeX1, transposeX2, out))
ACLNN(ConvertWeightToINT4Pack, (In, weight)(CodedOut, weightInt4Pack), pack_weight(weightInt4Pack, weight))

extern "C" OPWRIGHT_API aclnnStatus aclnnTransQuantParam(const float* scaleArray, uint64_t scaleSize,
                                                         const float* offsetArray, uint64_t offsetSize,
                                                         uint64_t** quantParam, uint64_t* quantParamSize) {
  return call(
      "aclnnTransQuantParam",
      [&] { pack_parameters(scaleArray, scaleSize, offsetArray, offsetSize, quantParam, quantParamSize); },
      arg("scaleSize", scaleSize), arg("offsetSize", offsetSize));
}

#undef OPWRIGHT_QUANT_MATMUL
#undef OPWRIGHT_FUSED_QUANT_MATMUL
#undef OPWRIGHT_TRANSPOSE_QUANT_BATCH_MATMUL
