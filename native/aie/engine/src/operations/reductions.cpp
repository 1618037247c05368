// operations/reductions.cpp: reductions, softmax and sums along an axis.
#include <ATen/TensorOperators.h>
#include <ATen/ops/all.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/any.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/argmin.h>
#include <ATen/ops/cumprod.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/linalg_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/max.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/min.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/std.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/var.h>
#include <ATen/ops/var_mean.h>
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
      for (int64_t& axis : axes) axis = axis < 0 ? axis + c[0].dim() : axis;
      std::sort(axes.rbegin(), axes.rend());
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

/// Values and indices; INT32 indices unless "index_type" says otherwise.
Tensors top_k(const Call& c) {
  const bool largest = c.kind<TopKOperation>("kind") == TopKOperation::MAX;
  const int64_t axis = c.has("axis") ? c.integer("axis") : axis_of(static_cast<uint64_t>(c.integer("axes", 1)));
  auto [values, indices] = at::topk(c[0], c.integer("k"), axis, largest, c.integer("sorted", 1) != 0);
  return {values, indices.to(scalar_type(c.has("index_type") ? c.kind<DataType>("index_type") : DataType::INT32))};
}

/// No axes mean all of them.
at::OptionalIntArrayRef axes_or_all(const std::vector<int64_t>& axes) {
  return axes.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(axes);
}

bool keep(const Call& c) { return c.integer("keep") != 0; }

std::optional<int64_t> axis_or_all(const Call& c) {
  return c.has("axis") ? std::optional(c.integer("axis")) : std::nullopt;
}

std::optional<at::Scalar> correction(const Call& c) { return c.scalar("correction"); }

template <auto function>
Tensors index_of(const Call& c) {
  return {function(c[0], axis_or_all(c), keep(c))};
}

template <auto function>
Tensors with_index(const Call& c) {
  auto [values, indices] = function(c[0], c.integer("axis"), keep(c));
  return {values, indices};
}

template <auto function>
Tensors over_axes(const Call& c) {
  const std::vector<int64_t> axes = c.list("axes");
  return {function(c[0], axes_or_all(axes), keep(c))};
}

template <auto function>
Tensors spread(const Call& c) {
  const std::vector<int64_t> axes = c.list("axes");
  return {function(c[0], axes_or_all(axes), correction(c), keep(c))};
}

Tensors variance_and_mean(const Call& c) {
  const std::vector<int64_t> axes = c.list("axes");
  auto [variance, mean] = at::var_mean(c[0], axes_or_all(axes), correction(c), keep(c));
  return {variance, mean};
}

/// "order" is a number for a norm of vectors, or of matrices if there are two axes; a text for a norm of matrices.
Tensor norm(const Call& c) {
  const std::vector<int64_t> axes = c.list("axes");
  if (c.has("name")) return at::linalg_norm(c[0], c.text("name"), axes_or_all(axes), keep(c));
  return at::linalg_norm(c[0], c.scalar("order"), axes_or_all(axes), keep(c));
}

Tensor vector_norm(const Call& c) {
  const std::vector<int64_t> axes = c.list("axes");
  return at::linalg_vector_norm(c[0], c.scalar("order").value_or(2), axes_or_all(axes), keep(c));
}

Tensors sort(const Call& c) {
  auto [values, indices] = at::sort(c[0], std::optional<bool>(c.integer("stable") != 0), c.integer("axis", -1),
                                    c.integer("descending") != 0);
  return {values, indices};
}

Tensors extremes(const Call& c) {
  auto [least, greatest] = at::aminmax(c[0], axis_or_all(c), keep(c));
  return {least, greatest};
}

Tensor log_sum_exp(const Call& c) {
  std::vector<int64_t> axes = c.list("axes");
  return at::logsumexp(c[0], axes, keep(c));
}

using Index = Tensor (*)(const Tensor&, std::optional<int64_t>, bool);
using WithIndex = std::tuple<Tensor, Tensor> (*)(const Tensor&, int64_t, bool);
using OverAxes = Tensor (*)(const Tensor&, at::OptionalIntArrayRef, bool);
using Spread = Tensor (*)(const Tensor&, at::OptionalIntArrayRef, const std::optional<at::Scalar>&, bool);

constexpr Precision kFull = Precision::kFull;

const Operation kOperations[] = {
    {"All", 1, over_axes<static_cast<OverAxes>(at::all)>},
    {"Any", 1, over_axes<static_cast<OverAxes>(at::any)>},
    {"ArgMax", 1, index_of<static_cast<Index>(at::argmax)>},
    {"ArgMin", 1, index_of<static_cast<Index>(at::argmin)>},
    {"Cumprod", 1, [](const Call& c) -> Tensors { return {at::cumprod(c[0], c.integer("axis"), c[0].scalar_type())}; },
     kFull},
    {"Cumsum", 1, [](const Call& c) -> Tensors { return {at::cumsum(c[0], c.integer("axis"), c[0].scalar_type())}; },
     kFull},
    {"Extremes", 1, extremes},
    {"LogSoftMax", 1, [](const Call& c) -> Tensors { return {at::log_softmax(c[0], c.integer("axis"))}; }, kFull},
    {"LogSumExp", 1, [](const Call& c) -> Tensors { return {log_sum_exp(c)}; }, kFull},
    {"MaxWithIndex", 1, with_index<static_cast<WithIndex>(at::max)>},
    {"MinWithIndex", 1, with_index<static_cast<WithIndex>(at::min)>},
    {"Norm", 1, [](const Call& c) -> Tensors { return {norm(c)}; }, kFull},
    {"Reduce", 1, [](const Call& c) -> Tensors { return {reduce(c)}; }, kFull},
    {"SoftMax", 1, [](const Call& c) -> Tensors { return {softmax(c)}; }, kFull},
    {"Sort", 1, sort},
    {"StandardDeviation", 1, spread<static_cast<Spread>(at::std)>, kFull},
    {"TopK", 1, top_k},
    {"Variance", 1, spread<static_cast<Spread>(at::var)>, kFull},
    {"VarianceAndMean", 1, variance_and_mean, kFull},
    {"VectorNorm", 1, [](const Call& c) -> Tensors { return {vector_norm(c)}; }, kFull},
};

}  // namespace

Table reductions() { return kOperations; }

}  // namespace AscendIE
