// operations/scaling.cpp: scales and shifts, of elements as they are and of normalized ones.
#include <ATen/TensorOperators.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/var_mean.h>
#include <c10/util/Exception.h>

#include <bit>

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
  const int64_t given = c.integer("axis");
  TORCH_CHECK_INDEX(given >= -c[0].dim() && given < c[0].dim(), "channel axis ", given, " is none of ", -c[0].dim(),
                    " to ", c[0].dim() - 1);
  const int64_t axis = given < 0 ? given + c[0].dim() : given;
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

std::vector<int64_t> axes_of(uint64_t mask, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (mask & (uint64_t{1} << axis)) axes.push_back(axis);
  }
  TORCH_CHECK_VALUE(static_cast<int>(axes.size()) == std::popcount(mask) && mask != 0, "the mask of axes ", mask,
                    " has to have bits 0 to ", rank - 1, " only, and one at least");
  return axes;
}

/// True if it has the shape of the last dimensions of `x`, with or without ones before it.
bool of_last_dimensions(const Tensor& values, at::IntArrayRef last) {
  if (!values.defined()) return true;
  const auto extra = values.dim() - static_cast<int64_t>(last.size());
  if (extra < 0 || values.sizes().slice(extra) != last) return false;
  for (int64_t i = 0; i < extra; ++i) {
    if (values.size(i) != 1) return false;
  }
  return true;
}

Tensor normalization(const Call& c) {
  const Tensor& x = c[0];
  const std::vector<int64_t> axes = axes_of(static_cast<uint64_t>(c.integer("axes")), x.dim());
  const double epsilon = c.real("epsilon", 1e-5);
  size_t next = 1;
  const Tensor weight = c.integer("scale") != 0 ? c[next++] : Tensor();
  const Tensor bias = next < c.operands().size() ? c[next] : Tensor();
  const at::IntArrayRef last = x.sizes().slice(axes.front());
  const bool trailing = axes.front() + static_cast<int64_t>(axes.size()) == x.dim();
  if (trailing && of_last_dimensions(weight, last) && of_last_dimensions(bias, last)) {
    const auto shaped = [&](const Tensor& values) { return values.defined() ? values.reshape(last) : values; };
    return at::layer_norm(x, last, shaped(weight), shaped(bias), epsilon);
  }
  const auto [variance, mean] = at::var_mean(x, axes, /*unbiased=*/false, /*keepdim=*/true);
  Tensor result = (x - mean) * at::rsqrt(variance + epsilon);
  if (weight.defined()) result = result * weight;
  return bias.defined() ? result + bias : result;
}

const Operation kOperations[] = {
    {"Normalization", 1, [](const Call& c) -> Tensors { return {normalization(c)}; }, Precision::kFull},
    {"Scale", 1, [](const Call& c) -> Tensors { return {scale(c)}; }},
};

}  // namespace

Table scaling() { return kOperations; }

}  // namespace AscendIE
