// native/opapi/ops/quantization/situ_quantization.cpp
// The gated activation SiTU between a dequantization and a quantization.
#include "opapi/ops/common/group_rows.h"
#include "opapi/ops/quantization/swiglu.h"

namespace {

struct DequantSitu {
  OptionalTensor weight_scale, activation_scale, bias, quant_scale, quant_offset, group_index;
  double beta, linear_beta;
  bool left;
  std::string mode;
};

void check_situ(const at::Tensor& x, const DequantSitu& call) {
  require(call.beta != 0, ACLNN_ERR_PARAM_INVALID, "beta is 0; it divides the gate");
  require(call.mode == "static" || call.mode == "dynamic", ACLNN_ERR_PARAM_INVALID, "quantTypeOptional is '", call.mode,
          "'; allowed: static, dynamic");
  require(call.mode == "dynamic" || call.quant_scale, ACLNN_ERR_PARAM_INVALID,
          "quantScaleOptional is null; static quantization needs it");
  require(x.dim() >= 2 && x.size(-1) % 2 == 0, ACLNN_ERR_PARAM_INVALID, "x has the shape ", x.sizes(),
          "; it needs 2 dimensions, and an even last one");
  const bool integers = x.scalar_type() == at::kChar || x.scalar_type() == at::kInt;
  require(integers == call.weight_scale.has_value(), ACLNN_ERR_PARAM_INVALID, "weightScaleOptional is ",
          integers ? "null" : "given", " for x of ", x.scalar_type());
  require((x.scalar_type() == at::kInt) == call.activation_scale.has_value(), ACLNN_ERR_PARAM_INVALID,
          "activationScaleOptional is ", call.activation_scale ? "given" : "null", " for x of ", x.scalar_type());
  require(integers || !call.bias, ACLNN_ERR_PARAM_INVALID, "biasOptional is given for x of ", x.scalar_type());
  require(x.scalar_type() != at::kChar || !call.group_index, ACLNN_ERR_PARAM_INVALID,
          "groupIndexOptional is given for x of int8");
}

at::Tensor bounded(const at::Tensor& values, double bound) { return (values / bound).tanh_().mul_(bound); }

at::Tensor activated(const at::Tensor& x, const DequantSitu& call) {
  at::Tensor values = x.to(at::kFloat);
  if (call.weight_scale) values = values * *call.weight_scale;
  if (call.activation_scale) values = values * *call.activation_scale;
  if (call.bias) values = values + *call.bias;
  const int64_t half = values.size(-1) / 2;
  const at::Tensor first = values.narrow(-1, 0, half), second = values.narrow(-1, half, half);
  const at::Tensor gate = call.left ? first : second, up = call.left ? second : first;
  return bounded(gate, call.beta) * gate.sigmoid() * (call.linear_beta > 0 ? bounded(up, call.linear_beta) : up);
}

// Rows behind the groups are 0.
void dequant_situ_quant(const at::Tensor& x, const DequantSitu& call, Coded& y, at::Tensor& scale) {
  check_situ(x, call);
  if (x.numel() == 0) return;
  at::Tensor values = activated(x, call);
  if (call.group_index) {
    const auto used = std::clamp<int64_t>(call.group_index->sum().item<int64_t>(), 0, values.size(0));
    values.narrow(0, used, values.size(0) - used).zero_();
  }
  if (call.mode == "static") {
    values = values / *call.quant_scale;
    store(y, call.quant_offset ? values + *call.quant_offset : values, Rounding::kTrunc);
    return;
  }
  if (call.quant_scale) values = values * *call.quant_scale;
  store_rows(y, scale, values, 0, Rounding::kTrunc);
}

}  // namespace

ACLNN(DequantSituQuant,
      (In, x)(OptIn, weightScaleOptional)(OptIn, activationScaleOptional)(OptIn, biasOptional)(
          OptIn, quantScaleOptional)(OptIn, quantOffsetOptional)(OptIndex, groupIndexOptional)(Float, beta)(
          Float, linearBeta)(Bool, activateLeft)(Text, quantTypeOptional)(CodedOut, yOut)(OptOut, yScaleOut),
      dequant_situ_quant(x,
                         {weightScaleOptional, activationScaleOptional, biasOptional, quantScaleOptional,
                          quantOffsetOptional, groupIndexOptional, beta, linearBeta, activateLeft,
                          quantTypeOptional.empty() ? "dynamic" : quantTypeOptional},
                         yOut, yScaleOut))
