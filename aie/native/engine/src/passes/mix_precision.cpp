// passes/mix_precision.cpp: layers of an FP16 model that compute in FP32; between layers values stay FP16.
#include <c10/core/ScalarType.h>

#include "passes/passes.h"

namespace AscendIE {

namespace {

bool in_full(const Step& step, BuilderFlag flag) {
  switch (step.operation->precision) {
    case Precision::kLow:
      return false;
    case Precision::kFull:
      return flag == BuilderFlag::MIX_FP16;
    case Precision::kFloat:
      return true;
  }
  return false;
}

at::Tensor in_type(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.defined() && tensor.is_floating_point() ? tensor.to(type) : tensor;
}

Kernel in_float(const Step& step) {
  return [operation = step.operation, attributes = step.attributes, inputs = step.inputs,
          outputs = step.outputs](Tensors& values) {
    Tensors operands;
    for (const uint32_t input : inputs) operands.push_back(in_type(values[input], at::kFloat));
    const Tensors results = operation->run(Call(operands, attributes, at::kFloat));
    for (size_t i = 0; i < outputs.size(); ++i) values[outputs[i]] = in_type(results.at(i), at::kHalf);
  };
}

}  // namespace

void mix_precision(Program& program) {
  if (program.compute() != at::kHalf) return;
  for (Step& step : program.steps) {
    if (!step.kernel && in_full(step, program.flag)) step.kernel = in_float(step);
  }
}

}  // namespace AscendIE
