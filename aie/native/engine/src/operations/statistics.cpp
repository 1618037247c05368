// operations/statistics.cpp: PyTorch's reductions, searches and sorts; their attributes are the schemas' arguments.
#include <ATen/TensorOperators.h>
#include <ATen/ops/all.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/any.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/argmin.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cumprod.h>
#include <ATen/ops/linalg_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/max.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/min.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/std.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/var.h>
#include <ATen/ops/var_mean.h>

#include "operations/optional.h"
#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

/// `dim`: one, a list, or none for all.
class Dimensions {
 public:
  explicit Dimensions(const Call& c) {
    if (!c.has("dim")) return;
    const bool one = std::holds_alternative<int64_t>(c.attributes().find("dim")->second);
    dims_ = one ? std::vector<int64_t>{c.integer("dim")} : c.list("dim");
  }
  at::IntArrayRef list() const { return dims_; }
  /// By its name: a conversion would prefer the list, and all and any reduce nothing over an empty one.
  at::OptionalIntArrayRef optional() const {
    return dims_.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(dims_);
  }

 private:
  std::vector<int64_t> dims_;
};

bool keep(const Call& c) { return c.integer("keepdim") != 0; }

std::optional<at::ScalarType> type(const Call& c) {
  return c.has("dtype") ? std::optional(c.type("dtype")) : std::nullopt;
}

/// One dimension, or none for all.
std::optional<int64_t> one_or_all(const Call& c) { return optional_integer(c, "dim"); }

/// The number that is taken from the number of elements before a variance divides by it.
std::optional<at::Scalar> correction(const Call& c) {
  return c.has("unbiased") ? at::Scalar(c.integer("unbiased")) : c.scalar("correction");
}

Tensors pair(std::tuple<Tensor, Tensor> results) {
  return {std::move(std::get<0>(results)), std::move(std::get<1>(results))};
}

Tensor product(const Call& c) {
  return c.has("dim") ? at::prod(c[0], c.integer("dim"), keep(c), type(c)) : at::prod(c[0], type(c));
}

/// `ord` is a number or a name.
Tensor norm(const Call& c) {
  const Dimensions dims(c);
  const auto found = c.attributes().find("ord");
  const bool name = found != c.attributes().end() && std::holds_alternative<std::string>(found->second);
  if (name) return at::linalg_norm(c[0], c.text("ord"), dims.optional(), keep(c), type(c));
  return at::linalg_norm(c[0], c.scalar("ord"), dims.optional(), keep(c), type(c));
}

/// The order is `ord` or `p`.
Tensor vector_norm(const Call& c) {
  const at::Scalar order = c.has("ord") ? *c.scalar("ord") : c.scalar("p").value_or(2);
  return at::linalg_vector_norm(c[0], order, Dimensions(c).optional(), keep(c), type(c));
}

using OverDimensions = Tensor (*)(const Tensor&, at::OptionalIntArrayRef, bool);
using Typed = Tensor (*)(const Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>);
using Spread = Tensor (*)(const Tensor&, at::OptionalIntArrayRef, const std::optional<at::Scalar>&, bool);
using WithIndex = std::tuple<Tensor, Tensor> (*)(const Tensor&, int64_t, bool);

template <OverDimensions function>
Tensors over_dimensions(const Call& c) {
  return {function(c[0], Dimensions(c).optional(), keep(c))};
}

template <Typed function>
Tensors typed(const Call& c) {
  return {function(c[0], Dimensions(c).optional(), keep(c), type(c))};
}

template <Spread function>
Tensors spread(const Call& c) {
  return {function(c[0], Dimensions(c).optional(), correction(c), keep(c))};
}

template <WithIndex function>
Tensors with_index(const Call& c) {
  return pair(function(c[0], c.integer("dim"), keep(c)));
}

bool stable(const Call& c) { return c.integer("stable") != 0; }
bool descending(const Call& c) { return c.integer("descending") != 0; }

constexpr Precision kFullPrecision = Precision::kFull;

const Operation kStatisticsOperations[] = {
    {"All", 1, over_dimensions<at::all>},
    {"AMax", 1, [](const Call& c) -> Tensors { return {at::amax(c[0], Dimensions(c).list(), keep(c))}; }},
    {"AMin", 1, [](const Call& c) -> Tensors { return {at::amin(c[0], Dimensions(c).list(), keep(c))}; }},
    {"AMinMax", 1, [](const Call& c) -> Tensors { return pair(at::aminmax(c[0], one_or_all(c), keep(c))); }},
    {"Any", 1, over_dimensions<at::any>},
    {"ArgMax", 1, [](const Call& c) -> Tensors { return {at::argmax(c[0], one_or_all(c), keep(c))}; }},
    {"ArgMin", 1, [](const Call& c) -> Tensors { return {at::argmin(c[0], one_or_all(c), keep(c))}; }},
    {"ArgSort", 1,
     [](const Call& c) -> Tensors { return {at::argsort(c[0], stable(c), c.integer("dim", -1), descending(c))}; }},
    {"CumulativeProduct", 1, [](const Call& c) -> Tensors { return {at::cumprod(c[0], c.integer("dim"), type(c))}; },
     kFullPrecision},
    {"LogSoftMax", 1, [](const Call& c) -> Tensors { return {at::log_softmax(c[0], c.integer("dim"), type(c))}; },
     kFullPrecision},
    {"LogSumExp", 1, [](const Call& c) -> Tensors { return {at::logsumexp(c[0], Dimensions(c).list(), keep(c))}; },
     kFullPrecision},
    {"MaxWithIndex", 1, with_index<at::max>},
    {"Mean", 1, typed<at::mean>, kFullPrecision},
    {"MinWithIndex", 1, with_index<at::min>},
    {"Norm", 1, [](const Call& c) -> Tensors { return {norm(c)}; }, kFullPrecision},
    {"Product", 1, [](const Call& c) -> Tensors { return {product(c)}; }, kFullPrecision},
    {"Sort", 1,
     [](const Call& c) -> Tensors {
       return pair(at::sort(c[0], std::optional(stable(c)), c.integer("dim", -1), descending(c)));
     }},
    {"StandardDeviation", 1, spread<at::std>, kFullPrecision},
    {"Sum", 1, typed<at::sum>, kFullPrecision},
    {"Variance", 1, spread<at::var>, kFullPrecision},
    {"VarianceAndMean", 1,
     [](const Call& c) -> Tensors {
       return pair(at::var_mean(c[0], Dimensions(c).optional(), correction(c), keep(c)));
     },
     kFullPrecision},
    {"VectorNorm", 1, [](const Call& c) -> Tensors { return {vector_norm(c)}; }, kFullPrecision},
};

}  // namespace

Table statistics() { return kStatisticsOperations; }

}  // namespace AscendIE
