// operations/quantization.cpp: to integers, and to the nearest values that integers stand for.
#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/fake_quantize_per_channel_affine.h>
#include <ATen/ops/fake_quantize_per_tensor_affine.h>
#include <ATen/ops/round.h>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

Tensor quantize(const Call& c) {
  return at::clamp(at::round(c[0] * c.real("scale") + c.real("offset")), -128, 127).to(at::kChar);
}

Tensor fake_quantize(const Call& c) {
  const int64_t least = c.integer("quant_min");
  const int64_t greatest = c.integer("quant_max");
  if (c.operands().size() < 3) {
    return at::fake_quantize_per_tensor_affine(c[0], c.real("scale"), c.integer("zero_point"), least, greatest);
  }
  if (!c.has("axis")) return at::fake_quantize_per_tensor_affine(c[0], c[1], c[2], least, greatest);
  return at::fake_quantize_per_channel_affine(c[0], c[1], c[2], c.integer("axis"), least, greatest);
}

const Operation kQuantizationOperations[] = {
    {"FakeQuantize", 1, [](const Call& c) -> Tensors { return {fake_quantize(c)}; }, Precision::kFloat},
    {"Quantize", 1, [](const Call& c) -> Tensors { return {quantize(c)}; }, Precision::kFull},
};

}  // namespace

Table quantization() { return kQuantizationOperations; }

}  // namespace AscendIE
