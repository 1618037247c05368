// operations/scaling.cpp: scales and shifts: one for all elements, for each channel or for each element.
#include <ATen/TensorOperators.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/util/Exception.h>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

/// Values of a scale or shift, in a shape that broadcasts to the input's.
Tensor broadcast(const Call& c, const Tensor& values) {
  const at::IntArrayRef shape = c[0].sizes();
  const auto mode = c.kind<ScaleMode>("mode");
  if (values.numel() == 1 && mode != ScaleMode::KELEMENTWISE) return values.reshape({});
  if (mode == ScaleMode::KELEMENTWISE) {
    TORCH_CHECK_VALUE(values.numel() == c[0].numel(), "got ", values.numel(), " values for ", c[0].numel(),
                      " elements");
    return values.reshape(shape);
  }
  TORCH_CHECK_VALUE(mode == ScaleMode::KCHANNEL, "got ", values.numel(), " values, mode KUNIFORM allows 1");
  const int64_t axis = c10::maybe_wrap_dim(c.integer("axis"), c[0].dim(), /*wrap_scalar=*/false);
  TORCH_CHECK_VALUE(values.numel() == shape[axis], "got ", values.numel(), " values for ", shape[axis], " channels");
  std::vector<int64_t> ones(shape.size(), 1);
  ones[axis] = shape[axis];
  return values.reshape(ones);
}

Tensor scale(const Call& c) {
  Tensor result = c[0];
  size_t next = 1;
  if (c.integer("scale") != 0) result = result * broadcast(c, c[next++]);
  if (next < c.operands().size()) result = result + broadcast(c, c[next]);
  return result;
}

const Operation kScalingOperations[] = {
    {"Scale", 1, [](const Call& c) -> Tensors { return {scale(c)}; }},
};

}  // namespace

Table scaling() { return kScalingOperations; }

}  // namespace AscendIE
