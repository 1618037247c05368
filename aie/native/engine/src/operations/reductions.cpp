// operations/reductions.cpp: reductions, softmax and sums along an axis.
#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/std.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/topk.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

std::vector<int64_t> every_axis(const Tensor& x) {
  std::vector<int64_t> axes(x.dim());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Tensor reduce(const Call& c) {
  std::vector<int64_t> axes = c.list("axes");
  if (axes.empty()) axes = every_axis(c[0]);
  const bool keep = c.integer("keep") != 0;
  switch (c.kind<ReduceOperation>("kind")) {
    case ReduceOperation::AVG:
      return at::mean(c[0], axes, keep);
    case ReduceOperation::MAX:
      return at::amax(c[0], axes, keep);
    case ReduceOperation::MIN:
      return at::amin(c[0], axes, keep);
    case ReduceOperation::SUM:
      return at::sum(c[0], axes, keep);
    case ReduceOperation::STD:
      return at::std(c[0], axes, /*unbiased=*/true, keep);
    case ReduceOperation::PROD: {
      Tensor result = c[0];
      for (int64_t& axis : axes) axis = c10::maybe_wrap_dim(axis, c[0].dim());
      std::sort(axes.rbegin(), axes.rend());
      TORCH_CHECK_VALUE(std::adjacent_find(axes.begin(), axes.end()) == axes.end(), "axes ", c.list("axes"),
                        " name one axis twice");
      for (const int64_t axis : axes) result = at::prod(result, axis, keep);
      return result;
    }
  }
  TORCH_CHECK_VALUE(false, "reduction ", c.integer("kind"), " is none of 0 to 5");
}

/// The axis whose bit is set.
int64_t axis_of(uint64_t mask) {
  TORCH_CHECK_VALUE(std::popcount(mask) == 1, "the mask of axes ", mask, " has to have one bit set");
  return std::countr_zero(mask);
}

Tensor softmax(const Call& c) {
  const auto axes = static_cast<uint64_t>(c.integer("axes", c[0].dim() > 1 ? 2 : 1));
  return at::softmax(c[0], axis_of(axes));
}

/// Values and indices; these are INT32 in the documented layer, which has a mask of axes, and INT64 in PyTorch's.
Tensors top_k(const Call& c) {
  const bool documented = c.has("axes");
  const bool largest = documented ? c.kind<TopKOperation>("kind") == TopKOperation::MAX : c.integer("largest", 1) != 0;
  const int64_t axis = documented ? axis_of(static_cast<uint64_t>(c.integer("axes"))) : c.integer("dim", -1);
  auto [values, indices] = at::topk(c[0], c.integer("k"), axis, largest, c.integer("sorted", 1) != 0);
  return {values, documented ? indices.to(at::kInt) : indices};
}

constexpr Precision kFull = Precision::kFull;

const Operation kReductionsOperations[] = {
    {"Cumsum", 1, [](const Call& c) -> Tensors { return {at::cumsum(c[0], c.integer("axis"), c[0].scalar_type())}; },
     kFull},
    {"Reduce", 1, [](const Call& c) -> Tensors { return {reduce(c)}; }, kFull},
    {"SoftMax", 1, [](const Call& c) -> Tensors { return {softmax(c)}; }, kFull},
    {"TopK", 1, top_k},
};

}  // namespace

Table reductions() { return kReductionsOperations; }

}  // namespace AscendIE
