// native/opapi/ops/quantization/norm_quantization.cpp
// RMS normalisation whose result is quantized. Everything is computed in float32 and rounded once.
#include "opapi/ops/common/microscaling.h"
#include "opapi/ops/reduction/normalization.h"

namespace {

// The dimensions that the parameter of a normalisation covers; leading ones do not count.
std::vector<int64_t> normalized_dims(const at::Tensor& gamma) {
  int64_t first = 0;
  while (first + 1 < gamma.dim() && gamma.size(first) == 1) ++first;
  std::vector<int64_t> dims;
  for (int64_t dim = -1; dim >= first - gamma.dim(); --dim) dims.push_back(dim);
  return dims.empty() ? std::vector<int64_t>{-1} : dims;
}

// Without the leading dimensions that `values` does not have.
at::Tensor fitted(const at::Tensor& parameter, const at::Tensor& values) {
  return parameter.dim() > values.dim() ? parameter.flatten(0, parameter.dim() - values.dim()) : parameter;
}

struct Normalized {
  at::Tensor values;  // without beta
  at::Tensor inverse;
};

Normalized normalized(const at::Tensor& x, const at::Tensor& gamma, double eps) {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor squares = at::square(wide).mean(normalized_dims(gamma), /*keepdim=*/true).to(at::kDouble);
  const at::Tensor inverse = (squares + eps).rsqrt_().to(at::kFloat);
  return {at::mul(wide, inverse).mul_(fitted(gamma, x)), inverse};
}

at::Tensor with_beta(const at::Tensor& values, const OptionalTensor& beta) {
  return beta ? values + fitted(*beta, values) : values;
}

// Statistics of one value per row go to whatever shape the caller keeps them in; an output without elements is not
// wanted.
void store_statistic(at::Tensor& out, const at::Tensor& values) {
  if (out.defined() && out.numel() > 0) out.copy_(values.reshape(out.sizes()));
}

void store_affine(Coded& out, const at::Tensor& values, const at::Tensor& scale, const OptionalTensor& offset,
                  bool divide) {
  const at::Tensor factor = fitted(scale.to(at::kFloat), values);
  const at::Tensor scaled = divide ? values / factor : values * factor;
  store(out, offset ? scaled + fitted(offset->to(at::kFloat), values) : scaled);
}

void add_rms_norm_quant(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma, const at::Tensor& scales1,
                        const OptionalTensor& scales2, const OptionalTensor& offset1, const OptionalTensor& offset2,
                        const OptionalTensor& beta, double eps, bool divide, Coded& y1, Coded& y2, at::Tensor& x_out,
                        at::Tensor& normalized_out) {
  const at::Tensor sum = at::add(x1, x2);
  const at::Tensor plain = normalized(sum, gamma, eps).values;
  const at::Tensor values = with_beta(plain, beta);
  store_affine(y1, values, scales1, offset1, divide);
  if (scales2) store_affine(y2, values, *scales2, offset2, divide);
  assign(x_out, sum);
  assign(normalized_out, plain);
}

void rms_norm_quant(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& scale, const OptionalTensor& offset,
                    const OptionalTensor& beta, double eps, bool divide, Coded& y, at::Tensor* rstd) {
  const Normalized result = normalized(x, gamma, eps);
  store_affine(y, with_beta(result.values, beta), scale, offset, divide);
  if (rstd != nullptr) store_statistic(*rstd, result.inverse);
}

void smooth_quant(Coded& y, at::Tensor& scale, const at::Tensor& values, const OptionalTensor& smooth) {
  store_rows(y, scale, smooth ? values * smooth->to(at::kFloat) : values);
}

void add_rms_norm_dynamic_quant(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma,
                                const OptionalTensor& smooth1, const OptionalTensor& smooth2,
                                const OptionalTensor& beta, double eps, c10::ArrayRef<uint8_t> wanted, Coded& y1,
                                Coded& y2, at::Tensor& x_out, at::Tensor& scale1, at::Tensor& scale2) {
  require(wanted.empty() || wanted.size() == 2, ACLNN_ERR_PARAM_INVALID, "outputMask has ", wanted.size(),
          " entries; it must have 2");
  const bool first = wanted.empty() || wanted[0] != 0;
  const bool second = wanted.empty() ? smooth1.has_value() && smooth2.has_value() : wanted[1] != 0;
  require(first || second, ACLNN_ERR_PARAM_INVALID, "outputMask is (false, false); at least one output must be wanted");
  require((first || !smooth1) && (second || !smooth2), ACLNN_ERR_PARAM_INVALID,
          "smoothScale1Optional or smoothScale2Optional is given for an output that is not wanted");
  const at::Tensor sum = at::add(x1, x2);
  const at::Tensor values = with_beta(normalized(sum, gamma, eps).values, beta);
  if (first) smooth_quant(y1, scale1, values, smooth1);
  if (second) smooth_quant(y2, scale2, values, smooth2);
  assign(x_out, sum);
}

at::Tensor layer_normalized(const at::Tensor& values, const at::Tensor& gamma, const at::Tensor& beta, double eps) {
  const std::vector<int64_t> dims = normalized_dims(gamma);
  const at::Tensor centred = values - values.mean(dims, /*keepdim=*/true);
  const at::Tensor inverse = (centred.square().mean(dims, /*keepdim=*/true) + eps).rsqrt_();
  return centred * inverse * fitted(gamma, values) + fitted(beta, values);
}

struct QuantBranch {
  const OptionalTensor &scales, &zero_points;
  Coded& y;
  at::Tensor& scale_out;
};

// The sum is normalised and quantized once, or twice if there are two scales.
void add_layer_norm_quant(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma, const at::Tensor& beta,
                          const OptionalTensor& bias, const std::string& mode, double eps, bool with_sum, bool divide,
                          const QuantBranch& first, const QuantBranch& second, at::Tensor& x_out,
                          at::Tensor& normalized_out) {
  require(mode == "static" || mode == "dynamic", ACLNN_ERR_PARAM_INVALID, "quantMode is '", mode,
          "'; allowed: static, dynamic");
  const bool is_static = mode == "static";
  require(!is_static || first.scales, ACLNN_ERR_PARAM_INVALID, "scales1Optional is null; static quantization needs it");
  require(first.scales || !second.scales, ACLNN_ERR_PARAM_INVALID, "scales2Optional is given without scales1Optional");
  require(is_static || (!first.zero_points && !second.zero_points), ACLNN_ERR_PARAM_INVALID,
          "zeroPoints1Optional or zeroPoints2Optional is given; dynamic quantization has none");
  at::Tensor sum = to_float(x1) + x2;
  if (bias) sum = sum + fitted(*bias, sum);
  const at::Tensor values = layer_normalized(sum, gamma, beta, eps);
  for (const QuantBranch* branch : {&first, &second}) {
    if (branch == &second && !second.scales) break;
    if (is_static) {
      store_affine(branch->y, values, *branch->scales, branch->zero_points, divide);
    } else {
      smooth_quant(branch->y, branch->scale_out, values, branch->scales);
    }
  }
  if (with_sum && x_out.defined()) assign(x_out, sum);
  if (normalized_out.defined()) assign(normalized_out, values);
}

void layer_norm_quant(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, const at::Tensor& scale,
                      const OptionalTensor& zero_point, int64_t mode, double eps, Coded& out) {
  require(mode == 0, ACLNN_ERR_PARAM_INVALID, "quantMode is ", mode, "; allowed: 0 (static)");
  store_affine(out, layer_normalized(to_float(x), gamma, beta, eps), scale, zero_point, /*divide=*/true);
}

void ada_layer_norm_quant(const AdaLayerNorm& result, const OptionalTensor& smooth, const std::string& mode, Coded& out,
                          at::Tensor& scale, const at::Tensor& offset) {
  require(mode == "dynamic", ACLNN_ERR_PARAM_INVALID, "quantMode is '", mode, "'; allowed: dynamic");
  require(!offset.defined(), ACLNN_ERR_PARAM_INVALID, "quantOffsetOptional is given; allowed: null");
  smooth_quant(out, scale, result.values, smooth);
}

void rms_norm_mx_quant(const at::Tensor& x, const at::Tensor& gamma, const OptionalTensor& beta, double eps,
                       int64_t algorithm, const std::string& mode, Coded& y, at::Tensor& scale, at::Tensor* rstd) {
  const Normalized result = normalized(x, gamma, eps);
  store_mx(y, scale, with_beta(result.values, beta), -1, mx_rule(y.format(), mode, algorithm));
  if (rstd != nullptr) store_statistic(*rstd, result.inverse);
}

void add_rms_norm_mx_quant(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma,
                           const OptionalTensor& beta, double eps, int64_t algorithm, const std::string& mode, Coded& y,
                           at::Tensor& x_out, at::Tensor& scale, at::Tensor* rstd) {
  const at::Tensor sum = at::add(x1, x2);
  rms_norm_mx_quant(sum, gamma, beta, eps, algorithm, mode, y, scale, rstd);
  assign(x_out, sum);
}

void rms_norm_grad_quant(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& rstd, const at::Tensor& gamma,
                         const at::Tensor& scale, const OptionalTensor& offset, const std::string& mode, bool divide,
                         Coded& dx, at::Tensor& dgamma) {
  require(mode.empty() || mode == "static", ACLNN_ERR_PARAM_INVALID, "quantMode is '", mode, "'; allowed: static");
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  const std::vector<int64_t> dims = normalized_dims(gamma);
  for (int64_t dim = 0; dim + static_cast<int64_t>(dims.size()) < x.dim(); ++dim) {
    shape[static_cast<size_t>(dim)] = x.size(dim);
  }
  const at::Tensor inverse = rstd.to(at::kFloat).reshape(shape);
  const at::Tensor unit = x.to(at::kFloat) * inverse, grad = dy.to(at::kFloat), scaled = grad * gamma;
  const at::Tensor result = (scaled - unit * (scaled * unit).mean(dims, /*keepdim=*/true)) * inverse;
  store_affine(dx, result, scale, offset, divide);
  assign(dgamma, (grad * unit).sum_to_size(gamma.sizes()));
}

}  // namespace

// Quantized is along the last dimension, whatever axis says (aclnnAddRmsNormQuantV2.md: values other than -1 have no
// effect).
ACLNN(AddRmsNormQuant,
      (In, x1)(In, x2)(In, gamma)(In, scales1)(OptIn, scales2Optional)(OptIn, zeroPoints1Optional)(
          OptIn, zeroPoints2Optional)(Int, axis)(Double, epsilon)(Bool, divMode)(CodedOut, y1Out)(OptCodedOut,
                                                                                                  y2Out)(Out, xOut),
      add_rms_norm_quant(x1, x2, gamma, scales1, scales2Optional, zeroPoints1Optional, zeroPoints2Optional, kNone,
                         epsilon, divMode, y1Out, y2Out, xOut, NoTensor{}))
ACLNN(AddRmsNormQuantV2,
      (In, x1)(In, x2)(In, gamma)(In, scales1)(OptIn, scales2Optional)(OptIn, zeroPoints1Optional)(
          OptIn, zeroPoints2Optional)(OptIn, betaOptional)(Int, axis)(Double, epsilon)(Bool, divMode)(CodedOut, y1Out)(
          OptCodedOut, y2Out)(Out, xOut)(OptOut, rmsNormOut),
      add_rms_norm_quant(x1, x2, gamma, scales1, scales2Optional, zeroPoints1Optional, zeroPoints2Optional,
                         betaOptional, epsilon, divMode, y1Out, y2Out, xOut, rmsNormOut))
ACLNN(RmsNormQuant, (In, x)(In, gamma)(OptIn, beta)(In, scale)(OptIn, offset)(Double, epsilon)(CodedOut, y),
      rms_norm_quant(x, gamma, scale, offset, beta, epsilon, /*divide=*/true, y, nullptr))
ACLNN(RmsNormQuantV3,
      (In, x)(In, gamma)(In, scale)(OptIn, offset)(OptIn, beta)(Double, epsilon)(Bool, divMode)(Bool, outputRstd)(
          CodedOut, y)(OptOut, rstd),
      rms_norm_quant(x, gamma, scale, offset, beta, epsilon, divMode, y, outputRstd ? &rstd : nullptr))
ACLNN(AddRmsNormDynamicQuantV2,
      (In, x1)(In, x2)(In, gamma)(OptIn, smoothScale1Optional)(OptIn, smoothScale2Optional)(OptIn, betaOptional)(
          Double, epsilon)(BoolsOrNone, outputMask)(OptCodedOut, y1Out)(OptCodedOut,
                                                                        y2Out)(Out, xOut)(OptOut, scale1Out)(OptOut,
                                                                                                             scale2Out),
      add_rms_norm_dynamic_quant(x1, x2, gamma, smoothScale1Optional, smoothScale2Optional, betaOptional, epsilon,
                                 outputMask, y1Out, y2Out, xOut, scale1Out, scale2Out))
ACLNN(RmsNormDynamicMxQuant,
      (In, x)(In, gamma)(OptIn, beta)(Double, epsilon)(Int, scaleAlg)(Text, roundMode)(Int, dstType)(Bool, outputRstd)(
          CodedOut, yOut)(Out, mxscaleOut)(OptOut, rstdOut),
      rms_norm_mx_quant(x, gamma, beta, epsilon, scaleAlg, roundMode, typed(yOut, dstType), mxscaleOut,
                        outputRstd ? &rstdOut : nullptr))
ACLNN(AddRmsNormDynamicMxQuant,
      (In, x1)(In, x2)(In, gamma)(OptIn, beta)(Double, epsilon)(Int, scaleAlg)(Text, roundMode)(Int, dstType)(
          Bool, outputRstd)(CodedOut, yOut)(Out, xOut)(Out, mxscaleOut)(OptOut, rstdOut),
      add_rms_norm_mx_quant(x1, x2, gamma, beta, epsilon, scaleAlg, roundMode, typed(yOut, dstType), xOut, mxscaleOut,
                            outputRstd ? &rstdOut : nullptr))
// torch_npu passes a std::optional<bool> as divMode, whose low byte is the value.
ACLNN(RmsNormGradQuant,
      (In, dy)(In, x)(In, rstd)(In, gamma)(In, scalesX)(OptIn, offsetXOptional)(Text, quantMode)(Bool, divMode)(
          CodedOut, dxOut)(Out, dgammaOut),
      rms_norm_grad_quant(dy, x, rstd, gamma, scalesX, offsetXOptional, quantMode, divMode, dxOut, dgammaOut))

#define ADD_LAYER_NORM_QUANT(NAME, NORMALIZED_PARAMETER, NORMALIZED)                                                \
  ACLNN(NAME,                                                                                                       \
        (In, x1)(In, x2)(In, gamma)(In, beta)(OptIn, biasOptional)(OptIn, scales1Optional)(OptIn, scales2Optional)( \
            OptIn, zeroPoints1Optional)(OptIn, zeroPoints2Optional)(Text, quantMode)(Double, epsilon)(              \
            Bool, additionalOutput)(Bool, divMode)(CodedOut, y1Out)(OptCodedOut, y2Out)(                            \
            OptOut, xOut)NORMALIZED_PARAMETER(OptOut, outScales1Out)(OptOut, outScales2Out),                        \
        add_layer_norm_quant(x1, x2, gamma, beta, biasOptional, quantMode, epsilon, additionalOutput, divMode,      \
                             {scales1Optional, zeroPoints1Optional, y1Out, outScales1Out},                          \
                             {scales2Optional, zeroPoints2Optional, y2Out, outScales2Out}, xOut, NORMALIZED))
ADD_LAYER_NORM_QUANT(AddLayerNormQuant, , NoTensor{})
ADD_LAYER_NORM_QUANT(AddLayerNormQuantV2, (OptOut, layernormRes), layernormRes)
ACLNN(LayerNormQuant,
      (In, x)(In, gamma)(In, beta)(In, scale)(OptIn, zeroPointsOptional)(Int32, quantMode)(Double, epsilon)(
          CodedOut, res)(OptOut, scaleOut),
      layer_norm_quant(x, gamma, beta, scale, zeroPointsOptional, quantMode, epsilon, res))
ACLNN(AdaLayerNormQuant,
      (In, x)(In, scale)(In, shift)(OptIn, weightOptional)(OptIn, biasOptional)(OptIn, smoothScalesOptional)(
          Double, epsilon)(Text, quantMode)(CodedOut, out)(Out, quantScale)(OptOut, quantOffsetOptional),
      ada_layer_norm_quant(ada_layer_norm(x, scale, shift, weightOptional, biasOptional, epsilon), smoothScalesOptional,
                           quantMode, out, quantScale, quantOffsetOptional))
ACLNN(AddRmsNormDynamicQuant,
      (In, x1)(In, x2)(In, gamma)(OptIn, smoothScale1Optional)(OptIn, smoothScale2Optional)(Double, epsilon)(
          OptCodedOut, y1Out)(OptCodedOut, y2Out)(Out, xOut)(OptOut, scale1Out)(OptOut, scale2Out),
      add_rms_norm_dynamic_quant(x1, x2, gamma, smoothScale1Optional, smoothScale2Optional, kNone, epsilon, {}, y1Out,
                                 y2Out, xOut, scale1Out, scale2Out))
ACLNN(RmsNormDynamicQuant,
      (In, x)(In, gamma)(OptIn, smoothScalesOptional)(OptIn, betaOptional)(Double,
                                                                           epsilon)(Int, dstType)(CodedOut,
                                                                                                  yOut)(Out, scaleOut),
      smooth_quant(typed(yOut, dstType), scaleOut, with_beta(normalized(x, gamma, epsilon).values, betaOptional),
                   smoothScalesOptional))

#undef ADD_LAYER_NORM_QUANT
