// operations/selections.cpp: what takes elements by their indices, puts them there, or makes them of indices.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/zeros.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

/// `size` elements from `start` on, each `stride` after the one before it; a stride of 0 repeats one element.
Tensor slice_axis(const Tensor& x, int64_t axis, int64_t start, int64_t size, int64_t stride) {
  if (size == 0) return x.narrow(axis, 0, 0);
  const int64_t last = start + (size - 1) * stride;
  TORCH_CHECK_INDEX(start >= 0 && last >= 0 && std::max(start, last) < x.size(axis), "axis ", axis, " of size ",
                    x.size(axis), ": elements ", start, " to ", last, " are asked for");
  if (stride > 0) return x.slice(axis, start, last + 1, stride);
  if (stride < 0) return x.slice(axis, last, start + 1, -stride).flip(axis);
  std::vector<int64_t> shape = x.sizes().vec();
  shape[axis] = size;
  return x.narrow(axis, start, 1).expand(shape);
}

Tensor slice(const Call& c) {
  const std::vector<int64_t> start = c.list("start");
  const std::vector<int64_t> size = c.list("size");
  const std::vector<int64_t> stride = c.list("stride");
  const auto rank = static_cast<size_t>(c[0].dim());
  TORCH_CHECK_VALUE(start.size() == rank && size.size() == rank && stride.size() == rank,
                    "start, size and stride have ", start.size(), ", ", size.size(), " and ", stride.size(),
                    " elements, allowed are ", rank);
  Tensor result = c[0];
  for (size_t i = 0; i < rank; ++i) {
    TORCH_CHECK_VALUE(size[i] >= 0, "axis ", i, " has size ", size[i], ", allowed are 0 and more");
    result = slice_axis(result, static_cast<int64_t>(i), start[i], size[i], stride[i]);
  }
  return result;
}

int64_t axis_of(const Call& c, int64_t absent = 0) {
  return c10::maybe_wrap_dim(c.integer("axis", absent), c[0].dim(), /*wrap_scalar=*/false);
}

/// The numbers, in a flat tensor, of the slices that tuples of indices name; a tuple's length is the indices' last
/// size.
Tensor flat_indices(const Tensor& data, const Tensor& indices) {
  const int64_t length = indices.size(-1);
  TORCH_CHECK_VALUE(length <= data.dim(), "tuples of ", length, " indices, allowed are at most ", data.dim());
  Tensor flat = at::zeros(indices.sizes().slice(0, indices.dim() - 1), indices.options().dtype(at::kLong));
  for (int64_t i = 0; i < length; ++i) flat = flat * data.size(i) + indices.select(-1, i);
  return flat.reshape(-1);
}

std::vector<int64_t> joined(at::IntArrayRef a, at::IntArrayRef b) {
  std::vector<int64_t> shape = a.vec();
  shape.insert(shape.end(), b.begin(), b.end());
  return shape;
}

/// Dimensions `length` and after stay, those before become one.
Tensor rows_of(const Tensor& data, int64_t length) {
  return data.reshape(joined({-1}, data.sizes().slice(static_cast<size_t>(length))));
}

Tensor gather(const Call& c) {
  const Tensor& data = c[0];
  const Tensor& indices = c[1];
  switch (c.kind<GatherOperation>("mode")) {
    case GatherOperation::DEFAULT: {
      const auto axis = static_cast<size_t>(axis_of(c));
      const std::vector<int64_t> front = joined(data.sizes().slice(0, axis), indices.sizes());
      return at::index_select(data, static_cast<int64_t>(axis), indices.reshape(-1))
          .reshape(joined(front, data.sizes().slice(axis + 1)));
    }
    case GatherOperation::ELEMENT:
      return at::gather(data, axis_of(c), indices.to(at::kLong));
    case GatherOperation::ND: {
      const int64_t length = indices.size(-1);
      const Tensor rows = at::index_select(rows_of(data, length), 0, flat_indices(data, indices));
      return rows.reshape(joined(indices.sizes().slice(0, indices.dim() - 1), data.sizes().slice(length)));
    }
  }
  TORCH_CHECK_VALUE(false, "mode ", c.integer("mode"), " is none of 0 to 2");
}

Tensor scatter(const Call& c) {
  switch (c.kind<ScatterMode>("mode")) {
    case ScatterMode::ELEMENT:
      return at::scatter(c[0], axis_of(c), c[1].to(at::kLong), c[2]);
    case ScatterMode::ND: {
      const int64_t length = c[1].size(-1);
      Tensor result = c[0].clone(at::MemoryFormat::Contiguous);
      rows_of(result, length).index_copy_(0, flat_indices(c[0], c[1]), rows_of(c[2], c[1].dim() - 1));
      return result;
    }
  }
  TORCH_CHECK_VALUE(false, "mode ", c.integer("mode"), " is none of 0 to 1");
}

/// start + index * step along the last axis. Operands, if there are any: dimensions, start, step.
Tensor fill(const Call& c) {
  const Tensors& given = c.operands();
  const std::vector<int64_t> dims = c.list("dims");
  TORCH_CHECK_VALUE(dims.size() == 1, "LINSPACE fills rank ", dims.size(), ", allowed is 1");
  const at::ScalarType type = c.has("type") ? c.type("type") : given.size() > 1 ? c[1].scalar_type() : at::kFloat;
  const Tensor indices = at::arange(dims[0], at::TensorOptions(type));
  const Tensor scaled = given.size() > 2 ? indices * c[2] : indices * c.real("beta", 1);
  return (given.size() > 1 ? scaled + c[1] : scaled + c.real("alpha")).to(type);
}

const Operation kSelectionsOperations[] = {
    {"Fill", 0, [](const Call& c) -> Tensors { return {fill(c)}; }},
    {"Gather", 2, [](const Call& c) -> Tensors { return {gather(c)}; }},
    {"Scatter", 3, [](const Call& c) -> Tensors { return {scatter(c)}; }},
    {"Slice", 1, [](const Call& c) -> Tensors { return {slice(c)}; }},
};

}  // namespace

Table selections() { return kSelectionsOperations; }

}  // namespace AscendIE
