// operations/views.cpp: other shapes and parts of a tensor, by PyTorch's names and rules; attributes are PyTorch's too.
#include <ATen/TensorOperators.h>
#include <ATen/ops/chunk.h>
#include <ATen/ops/flatten.h>
#include <ATen/ops/movedim.h>
#include <ATen/ops/narrow.h>
#include <ATen/ops/select.h>
#include <ATen/ops/slice.h>
#include <ATen/ops/split.h>
#include <ATen/ops/split_with_sizes.h>
#include <ATen/ops/squeeze.h>
#include <ATen/ops/tensor_split.h>
#include <ATen/ops/unbind.h>
#include <ATen/ops/unflatten.h>
#include <ATen/ops/unsqueeze.h>

#include <limits>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

const Operation kViewsOperations[] = {
    {"Chunk", 1, [](const Call& c) -> Tensors { return at::chunk(c[0], c.integer("chunks"), c.integer("dim")); }},
    // The second input in the shape and type of the first.
    {"CopyInto", 2, [](const Call& c) -> Tensors { return {c[1].to(c[0].scalar_type()).expand(c[0].sizes())}; }},
    {"Expand", 1, [](const Call& c) -> Tensors { return {c[0].expand(c.list("size"))}; }},
    {"ExpandAs", 2, [](const Call& c) -> Tensors { return {c[0].expand_as(c[1])}; }},
    {"Flatten", 1,
     [](const Call& c) -> Tensors { return {at::flatten(c[0], c.integer("start_dim"), c.integer("end_dim", -1))}; }},
    {"MoveDimension", 1,
     [](const Call& c) -> Tensors { return {at::movedim(c[0], c.integer("source"), c.integer("destination"))}; }},
    {"MoveDimensions", 1,
     [](const Call& c) -> Tensors { return {at::movedim(c[0], c.list("source"), c.list("destination"))}; }},
    {"Narrow", 1,
     [](const Call& c) -> Tensors {
       return {at::narrow(c[0], c.integer("dim"), c.integer("start"), c.integer("length"))};
     }},
    // The start is the second input.
    {"NarrowTensor", 2,
     [](const Call& c) -> Tensors {
       const int64_t start = c[1].is_meta() ? 0 : c[1].item().toLong();
       return {at::narrow(c[0], c.integer("dim"), start, c.integer("length"))};
     }},
    {"ReshapeAs", 2, [](const Call& c) -> Tensors { return {c[0].reshape(c[1].sizes())}; }},
    {"SelectIndex", 1,
     [](const Call& c) -> Tensors { return {at::select(c[0], c.integer("dim"), c.integer("index"))}; }},
    {"SliceDimension", 1,
     [](const Call& c) -> Tensors {
       return {at::slice(c[0], c.integer("dim"), c.integer("start"), c.integer("end", kEnd), c.integer("step", 1))};
     }},
    {"Split", 1, [](const Call& c) -> Tensors { return at::split(c[0], c.integer("split_size"), c.integer("dim")); }},
    {"SplitSizes", 1,
     [](const Call& c) -> Tensors {
       return at::split_with_sizes(c[0], c.list(c.has("split_size") ? "split_size" : "split_sizes"), c.integer("dim"));
     }},
    {"Squeeze", 1,
     [](const Call& c) -> Tensors { return {c.has("dim") ? c[0].squeeze(c.list("dim")) : c[0].squeeze()}; }},
    {"SqueezeDimension", 1, [](const Call& c) -> Tensors { return {c[0].squeeze(c.integer("dim"))}; }},
    {"TensorSplit", 1,
     [](const Call& c) -> Tensors { return at::tensor_split(c[0], c.integer("sections"), c.integer("dim")); }},
    {"Unbind", 1, [](const Call& c) -> Tensors { return at::unbind(c[0], c.integer("dim")); }},
    {"Unflatten", 1, [](const Call& c) -> Tensors { return {at::unflatten(c[0], c.integer("dim"), c.list("sizes"))}; }},
    {"Unsqueeze", 1, [](const Call& c) -> Tensors { return {c[0].unsqueeze(c.integer("dim"))}; }},
};

}  // namespace

Table views() { return kViewsOperations; }

}  // namespace AscendIE
