// native/opapi/ops/quantization/quantized_updates.cpp
// Functions that quantize or dequantize beside other work: writing into a cache, convolution, the bias of a product.
#include "opapi/ops/common/deq_scale.h"
#include "opapi/ops/common/low_precision.h"

namespace {

aclDataType code_of(at::ScalarType dtype) {
  return dtype == at::kFloat8_e4m3fn ? ACL_FLOAT8_E4M3FN : dtype == at::kFloat8_e5m2 ? ACL_FLOAT8_E5M2 : ACL_INT8;
}

// updates[i] goes to self at indices[i] along `axis` of row i, or of row indices[i][0] at indices[i][1].
void quant_scatter(at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates, const at::Tensor& scales,
                   const OptionalTensor& offsets, int64_t axis, int64_t quant_axis, int64_t reduction,
                   Rounding rounding) {
  require(self.dim() == updates.dim() && self.dim() >= 2, ACLNN_ERR_PARAM_INVALID, "selfRef has ", self.dim(),
          " dimensions and updates ", updates.dim(), "; they must have the same number, at least 2");
  const int64_t dim = at::maybe_wrap_dim(axis, self.dim()), last = self.dim() - 1;
  require(dim > 0, ACLNN_ERR_PARAM_INVALID, "axis is the first dimension");
  require(at::maybe_wrap_dim(quant_axis, self.dim()) == last, ACLNN_ERR_PARAM_INVALID, "quantAxis is ", quant_axis,
          "; allowed: the last dimension");
  require(reduction == 1, ACLNN_ERR_PARAM_INVALID, "reduction is ", reduction, "; allowed: 1 (update)");
  const bool pairs = indices.dim() == 2;
  require(indices.dim() == 1 || (pairs && indices.size(1) == 2), ACLNN_ERR_PARAM_INVALID, "indices has shape ",
          indices.sizes(), "; allowed: [n], [n, 2]");
  require(indices.size(0) == updates.size(0), ACLNN_ERR_PARAM_INVALID, "indices has ", indices.size(0), " entries for ",
          updates.size(0), " updates");
  at::Tensor values = updates.to(at::kFloat) / scales.to(at::kFloat).flatten();
  if (given(offsets)) values = values + offsets->to(at::kFloat).flatten();
  const at::Tensor codes = rounded(values, low_format(code_of(self.scalar_type())), rounding).to(self.scalar_type());
  for (int64_t i = 0; i < updates.size(0); ++i) {
    const int64_t row = pairs ? indices[i][0].item<int64_t>() : i;
    const int64_t position = (pairs ? indices[i][1] : indices[i]).item<int64_t>();
    require(row >= 0 && row < self.size(0) && position >= 0 && position + updates.size(dim) <= self.size(dim),
            ACLNN_ERR_PARAM_INVALID, "indices entry ", i, " is row ", row, " position ", position,
            "; that is outside of selfRef of shape ", self.sizes());
    self.select(0, row).narrow(dim - 1, position, updates.size(dim)).copy_(codes.select(0, i));
  }
}

void dequant_bias(const at::Tensor& x, const at::Tensor& weight_scale, const OptionalTensor& activation,
                  const OptionalTensor& bias, at::Tensor& out) {
  const bool integer = given(bias) && bias->scalar_type() == at::kInt;
  at::Tensor values = x.to(at::kDouble);
  if (integer) values = values + *bias;
  values = values.to(at::kFloat) * weight_scale.to(at::kFloat);
  if (given(activation)) values = values * activation->to(at::kFloat).unsqueeze(-1);
  if (given(bias) && !integer) values = values + bias->to(at::kFloat);
  assign(out, values);
}

// One value for each channel of the output, in a shape that broadcasts.
at::Tensor by_channel(const at::Tensor& values, int64_t dims) {
  std::vector<int64_t> shape(static_cast<size_t>(dims), 1);
  shape[1] = -1;
  return values.to(at::kDouble).reshape(shape);
}

void quant_convolution(const at::Tensor& input, const at::Tensor& weight, const OptionalTensor& bias,
                       const at::Tensor& scale, const OptionalTensor& offset, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed, int64_t groups,
                       int64_t offset_x, const std::string& mode, Coded& out) {
  require(mode.empty() || mode == "rint" || mode == "round", ACLNN_ERR_PARAM_INVALID, "parameter 'roundMode' is '",
          mode, "'; allowed: rint, round, none");
  require(!transposed, ACLNN_ERR_PARAM_INVALID, "transposed is true; allowed: false");
  require(offset_x == 0 || padding.empty() || (input.scalar_type() == at::kChar), ACLNN_ERR_PARAM_INVALID,
          "offsetx is ", offset_x, "; only an input of int8 can have one");
  at::Tensor x = input.to(at::kDouble);
  std::vector<int64_t> inner(padding.begin(), padding.end());
  if (offset_x != 0) {  // what lies outside of the input is offsetx
    std::vector<int64_t> sides;
    for (size_t i = inner.size(); i-- > 0;) sides.insert(sides.end(), {inner[i], inner[i]});
    x = at::constant_pad_nd(x, sides, offset_x);
    std::fill(inner.begin(), inner.end(), 0);
  }
  at::Tensor sums = at::convolution(x, weight.to(at::kDouble), std::nullopt, stride, inner, dilation,
                                    /*transposed=*/false, std::vector<int64_t>(inner.size(), 0), groups);
  const bool integer = given(bias) && bias->scalar_type() == at::kInt;
  if (integer) sums = sums + by_channel(*bias, sums.dim());
  sums = sums * by_channel(scale_of(scale), sums.dim());
  if (given(bias) && !integer) sums = sums + by_channel(*bias, sums.dim());
  if (given(offset)) sums = sums + by_channel(*offset, sums.dim());
  if (out.dtype == ACL_INT8 || out.dtype == ACL_FLOAT8_E4M3FN || out.dtype == ACL_HIFLOAT8) {
    store(out, sums.to(at::kFloat), rounding_of(mode, "roundMode"));
  } else {
    assign(out.values, sums);
  }
}

}  // namespace

ACLNN(InplaceQuantScatter,
      (Ref, selfRef)(Index,
                     indices)(In, updates)(In, quantScales)(OptIn,
                                                            quantZeroPoints)(Int, axis)(Int, quantAxis)(Int, reduction),
      quant_scatter(selfRef, indices, updates, quantScales, quantZeroPoints, axis, quantAxis, reduction,
                    Rounding::kNearestEven))
ACLNN(InplaceQuantScatterV2,
      (Ref, selfRef)(Index, indices)(In, updates)(In, quantScales)(OptIn, quantZeroPoints)(Int, axis)(Int, quantAxis)(
          Int, reduction)(Text, roundMode),
      quant_scatter(selfRef, indices, updates, quantScales, quantZeroPoints, axis, quantAxis, reduction,
                    rounding_of(roundMode, "roundMode")))
ACLNN(DequantBias,
      (In, x)(In, weightScale)(OptIn, activateScaleOptional)(OptIn, biasOptional)(DtypeInt, outputDtype)(Out, out),
      dequant_bias(x, weightScale, activateScaleOptional, biasOptional, typed(out, outputDtype, "outputDtype")))
#define OPWRIGHT_QUANT_CONVOLUTION(NAME)                                                                              \
  ACLNN(NAME,                                                                                                         \
        (CodedIn, input)(CodedIn, weight)(OptIn, bias)(In, scale)(OptIn, offset)(Ints, stride)(Ints, padding)(        \
            Ints, dilation)(Bool, transposed)(Ints, outputPadding)(Int, groups)(Int32, offsetx)(Text, roundMode)(     \
            CodedOut, output),                                                                                        \
        quant_convolution(input, weight, bias, scale, offset, stride, padding, dilation, transposed, groups, offsetx, \
                          roundMode, output))
OPWRIGHT_QUANT_CONVOLUTION(QuantConvolution)
OPWRIGHT_QUANT_CONVOLUTION(QuantConvolutionWeightNz)
#undef OPWRIGHT_QUANT_CONVOLUTION
