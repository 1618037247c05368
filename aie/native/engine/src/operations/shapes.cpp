// operations/shapes.cpp: operations that move elements and return shapes.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

Tensor shuffle(const Call& c) {
  Tensor x = c[0];
  if (c.has("first_transpose")) x = x.permute(c.list("first_transpose"));
  if (c.has("reshape")) x = x.reshape(c.list("reshape"));
  if (c.has("second_transpose")) x = x.permute(c.list("second_transpose"));
  return x;
}

Tensor shape(const Call& c) {
  const at::ScalarType type = scalar_type(c.has("type") ? c.kind<DataType>("type") : DataType::INT32);
  Tensor sizes = at::empty({c[0].dim()}, type);
  for (int64_t i = 0; i < c[0].dim(); ++i) sizes.select(0, i).fill_(c[0].size(i));
  return sizes;
}

const Operation kShapesOperations[] = {
    {"Concatenation", 1, [](const Call& c) -> Tensors { return {at::cat(c.operands(), c.integer("axis"))}; }},
    {"Shape", 1, [](const Call& c) -> Tensors { return {shape(c)}; }},
    {"Shuffle", 1, [](const Call& c) -> Tensors { return {shuffle(c)}; }},
};

}  // namespace

Table shapes() { return kShapesOperations; }

}  // namespace AscendIE
