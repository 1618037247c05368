// native/opapi/ops/matmul/weight_quant_matmul.cpp
// Products with a quantized weight: the weight is brought to the dtype of x first.
#include "opapi/ops/matmul/quant_matmul.h"

namespace {

// A scale or offset for weight [k, n]: one value, one for each column, or one for each group of rows and column.
at::Tensor over_weight(const at::Tensor& values, int64_t k, int64_t n, int64_t group, const char* name) {
  if (values.numel() == 1) return values.reshape({1, 1});
  if (values.dim() < 2 || values.size(-2) == 1) return values.reshape({1, -1});
  require(group > 0, ACLNN_ERR_PARAM_INVALID, name, " has shape ", values.sizes(),
          ", but antiquantGroupSize is 0; allowed shapes: [1], [n], [1, n]");
  require(values.size(-1) == n && values.size(-2) * group >= k, ACLNN_ERR_PARAM_INVALID, name, " has shape ",
          values.sizes(), "; it must be [", (k + group - 1) / group, ", ", n, "]");
  return values.repeat_interleave(group, -2).narrow(-2, 0, k);
}

at::Tensor scale_values(const at::Tensor& scale) {
  if (scale.scalar_type() != at::kFloat8_e8m0fnu) return scale_of(scale);
  return at::ldexp(at::ones({}, at::kFloat), scale.view(at::kByte).to(at::kInt) - 127);
}

}  // namespace

namespace opwright::opapi {

at::Tensor weight_quant_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                                const OptionalTensor& offset, const OptionalTensor& bias, int64_t group) {
  const int64_t k = x.size(-1);
  const at::Tensor codes = unpacked_weight(weight, k);
  require(codes.size(-2) == k, ACLNN_ERR_PARAM_INVALID, "x has ", k, " columns and weight ", codes.size(-2), " rows");
  const int64_t n = codes.size(-1);
  at::Tensor values = codes.to(at::kFloat);
  if (given(offset)) values = values + over_weight(offset->to(at::kFloat), k, n, group, "antiquantOffset");
  values = values * over_weight(scale_values(scale), k, n, group, "antiquantScale");
  const at::Tensor product = at::matmul(x.to(at::kFloat), values.to(x.scalar_type()).to(at::kFloat));
  return given(bias) ? product + bias->to(at::kFloat) : product;
}

}  // namespace opwright::opapi

namespace {

void weight_quant_matmul(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                         const OptionalTensor& offset, const OptionalTensor& quant_scale,
                         const OptionalTensor& quant_offset, const OptionalTensor& bias, int64_t group, Coded& y) {
  at::Tensor product = weight_quant_product(x, weight, scale, offset, bias, group);
  if (!given(quant_scale)) {
    store_product(y, product);
    return;
  }
  product = product * scale_of(*quant_scale);
  const at::Tensor shift = given(quant_offset) ? quant_offset->to(at::kFloat) : offset_of(*quant_scale);
  store_product(y, shift.defined() ? product + shift : product);
}

}  // namespace

// innerPrecise is a hint for the matrix unit.
#define OPWRIGHT_WEIGHT_QUANT_MATMUL(NAME, ...)                                                                  \
  ACLNN(NAME,                                                                                                    \
        (In, x)(CodedIn, weight)(In, antiquantScale)(OptIn, antiquantOffsetOptional)(OptIn, quantScaleOptional)( \
            OptIn, quantOffsetOptional)(OptIn, biasOptional)(Int32, antiquantGroupSize)__VA_ARGS__(CodedOut, y), \
        weight_quant_matmul(x, weight, antiquantScale, antiquantOffsetOptional, quantScaleOptional,              \
                            quantOffsetOptional, biasOptional, antiquantGroupSize, y))
OPWRIGHT_WEIGHT_QUANT_MATMUL(WeightQuantBatchMatmulV2, )
OPWRIGHT_WEIGHT_QUANT_MATMUL(WeightQuantBatchMatmulV3, (Int32, innerPrecise))
OPWRIGHT_WEIGHT_QUANT_MATMUL(WeightQuantBatchMatmulNz, )

#undef OPWRIGHT_WEIGHT_QUANT_MATMUL
