// native/opapi/ops/matmul/fused_matmul.cpp
// A matrix product with what follows it. Everything is computed in float32 and rounded once.
#include "opapi/opapi.h"

namespace {

enum class Fused { kNone, kWiden, kAdd, kMultiply, kGelu, kGeluTanh, kRelu };

Fused fused_named(const std::string& name) {
  static const std::pair<const char*, Fused> kNames[] = {
      {"", Fused::kNone},         {"16cast32", Fused::kWiden},     {"add", Fused::kAdd},   {"mul", Fused::kMultiply},
      {"gelu_erf", Fused::kGelu}, {"gelu_tanh", Fused::kGeluTanh}, {"relu", Fused::kRelu},
  };
  for (const auto& [known, fused] : kNames) {
    if (name == known) return fused;
  }
  fail(ACLNN_ERR_PARAM_INVALID, "fusedOpType is '", name,
       "'; allowed: '', 16cast32, add, mul, gelu_erf, gelu_tanh, relu");
}

bool takes_bias(Fused fused) { return fused != Fused::kGelu && fused != Fused::kGeluTanh; }
bool takes_operand(Fused fused) { return fused == Fused::kAdd || fused == Fused::kMultiply; }

void fused_matmul(const at::Tensor& left, const at::Tensor& right, const OptionalTensor& bias,
                  const OptionalTensor& operand, const std::string& name, at::Tensor& out) {
  const Fused fused = fused_named(name);
  require(left.dim() >= 2 && right.dim() >= 2, ACLNN_ERR_PARAM_INVALID, "x1 has ", left.dim(), " and x2 has ",
          right.dim(), " dimensions; allowed: at least 2");
  require(!bias || takes_bias(fused), ACLNN_ERR_PARAM_INVALID, "bias is given; with fusedOpType ", name,
          " it must be null");
  require(operand.has_value() == takes_operand(fused), ACLNN_ERR_PARAM_INVALID, "x3 is ", operand ? "given" : "null",
          "; it is needed for fusedOpType add and mul, and only for these");
  at::Tensor result = left.to(at::kFloat).matmul(right.to(at::kFloat));
  if (bias) result.add_(bias->to(at::kFloat));
  if (fused == Fused::kAdd) result.add_(operand->to(at::kFloat));
  if (fused == Fused::kMultiply) result.mul_(operand->to(at::kFloat));
  if (fused == Fused::kGelu) result = at::gelu(result, "none");
  if (fused == Fused::kGeluTanh) result = at::gelu(result, "tanh");
  if (fused == Fused::kRelu) result.relu_();
  assign(out, result);
}

}  // namespace

ACLNN(FusedMatmul, (In, x1)(In, x2)(OptIn, bias)(OptIn, x3)(Text, fusedOpType)(MathType, cubeMathType)(Out, y),
      fused_matmul(x1, x2, bias, x3, fusedOpType, y))
