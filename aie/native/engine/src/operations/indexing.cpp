// operations/indexing.cpp: elements at places that tensors give, by PyTorch's names and rules.
#include <ATen/TensorOperators.h>
#include <ATen/core/List.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/grid_sampler.h>
#include <ATen/ops/index.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/scatter_add.h>
#include <c10/util/Exception.h>

#include <optional>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

/// One for each dimension, absent where all of it is taken.
c10::List<std::optional<Tensor>> indices(const Call& c) {
  c10::List<std::optional<Tensor>> tensors;
  for (const int64_t input : c.list("indices")) {
    if (input < 0) {
      tensors.push_back(std::nullopt);
      continue;
    }
    const Tensor& index = c[static_cast<size_t>(input)];
    // at::index takes no other integers.
    tensors.push_back(index.scalar_type() == at::kBool ? index : index.to(at::kLong));
  }
  return tensors;
}

Tensor index(const Call& c) {
  for (size_t i = 1; i < c.operands().size(); ++i) {
    const bool mask = c[i].scalar_type() == at::kBool || c[i].scalar_type() == at::kByte;
    TORCH_CHECK_TYPE(!mask, "index ", i - 1, " is a mask: the result's shape would depend on its values, allowed are ",
                     "integers: put aten::index into torch_executed_ops");
  }
  return at::index(c[0], indices(c));
}

const Operation kIndexingOperations[] = {
    {"GatherElements", 2, [](const Call& c) -> Tensors { return {at::gather(c[0], c.integer("dim"), c[1])}; }},
    {"GridSample", 2,
     [](const Call& c) -> Tensors {
       return {at::grid_sampler(c[0], c[1], c.integer("interpolation_mode"), c.integer("padding_mode"),
                                c.integer("align_corners") != 0)};
     }},
    {"Index", 1, [](const Call& c) -> Tensors { return {index(c)}; }},
    {"IndexAdd", 3,
     [](const Call& c) -> Tensors { return {at::index_add(c[0], c.integer("dim"), c[1], c[2], c.real("alpha", 1))}; }},
    // The values are the last input.
    {"IndexPut", 2,
     [](const Call& c) -> Tensors {
       return {at::index_put(c[0], indices(c), c.operands().back(), c.integer("accumulate") != 0)};
     }},
    {"IndexSelect", 2, [](const Call& c) -> Tensors { return {at::index_select(c[0], c.integer("dim"), c[1])}; }},
    {"ScatterAdd", 3, [](const Call& c) -> Tensors { return {at::scatter_add(c[0], c.integer("dim"), c[1], c[2])}; }},
    {"ScatterElements", 3, [](const Call& c) -> Tensors { return {at::scatter(c[0], c.integer("dim"), c[1], c[2])}; }},
    {"ScatterValue", 2,
     [](const Call& c) -> Tensors { return {at::scatter(c[0], c.integer("dim"), c[1], c.real("value"))}; }},
};

}  // namespace

Table indexing() { return kIndexingOperations; }

}  // namespace AscendIE
