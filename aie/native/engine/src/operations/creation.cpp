// operations/creation.cpp: tensors whose values do not come from others, for sizes that are known only at run time.
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

#include <optional>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

at::Scalar number(const Call& c, const char* name, int64_t absent) { return c.scalar(name).value_or(absent); }

Tensor full_like(const Call& c) {
  const at::ScalarType type = c.has("dtype") ? c.type("dtype") : c[0].scalar_type();
  return at::full(c[0].sizes(), number(c, "fill_value", 0), c[0].options().dtype(type));
}

Tensor arange(const Call& c) {
  return at::arange(number(c, "start", 0), number(c, "end", 0), number(c, "step", 1), c.type("dtype"));
}

const Operation kCreationOperations[] = {
    {"Arange", 0, [](const Call& c) -> Tensors { return {arange(c)}; }},
    {"Full", 0,
     [](const Call& c) -> Tensors { return {at::full(c.list("size"), number(c, "fill_value", 0), c.type("dtype"))}; }},
    {"FullLike", 1, [](const Call& c) -> Tensors { return {full_like(c)}; }},
};

}  // namespace

Table creation() { return kCreationOperations; }

}  // namespace AscendIE
