// operations/pooling.cpp: pooling.
#include <ATen/ops/adaptive_avg_pool1d.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/adaptive_avg_pool3d.h>
#include <ATen/ops/adaptive_max_pool1d.h>
#include <ATen/ops/adaptive_max_pool2d.h>
#include <ATen/ops/adaptive_max_pool3d.h>
#include <ATen/ops/avg_pool1d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/max_pool1d.h>
#include <ATen/ops/max_pool1d_with_indices.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool3d.h>
#include <ATen/ops/max_pool3d_with_indices.h>
#include <ATen/ops/ones_like.h>
#include <c10/util/Exception.h>

#include <limits>

#include "operations/optional.h"
#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;

void expect_rank(size_t rank) {
  TORCH_CHECK_VALUE(rank >= 1 && rank <= 3, "the window has rank ", rank, ", allowed are 1 to 3");
}

struct Window {
  Sizes size, stride, padding, dilation;
  bool ceil = false;
};

Window window_of(const Call& c) {
  Window window;
  window.size = c.list("window");
  const size_t rank = window.size.size();
  expect_rank(rank);
  window.stride = c.list("stride", window.size);
  window.padding = c.list("padding", Sizes(rank, 0));
  window.dilation = c.list("dilation", Sizes(rank, 1));
  window.ceil = c.kind<PaddingMode>("padding_mode") == PaddingMode::EXPLICIT_ROUND_UP;
  return window;
}

/// SAME_UPPER and SAME_LOWER: as many results as strides fit into the input; an odd padding is larger at the end or at
/// the beginning.
Tensor padded(const Tensor& x, const Window& window, bool at_end, double value) {
  Sizes pads;
  for (size_t i = window.size.size(); i-- > 0;) {
    const int64_t size = x.size(x.dim() - static_cast<int64_t>(window.size.size() - i));
    const int64_t results = (size + window.stride[i] - 1) / window.stride[i];
    const int64_t reach = (results - 1) * window.stride[i] + window.dilation[i] * (window.size[i] - 1) + 1;
    const int64_t missing = std::max<int64_t>(reach - size, 0);
    const int64_t less = missing / 2;
    pads.push_back(at_end ? less : missing - less);
    pads.push_back(at_end ? missing - less : less);
  }
  return at::constant_pad_nd(x, pads, value);
}

Tensor max_pool(const Tensor& x, const Window& w) {
  switch (w.size.size()) {
    case 1:
      return at::max_pool1d(x, w.size, w.stride, w.padding, w.dilation, w.ceil);
    case 2:
      return at::max_pool2d(x, w.size, w.stride, w.padding, w.dilation, w.ceil);
    default:
      return at::max_pool3d(x, w.size, w.stride, w.padding, w.dilation, w.ceil);
  }
}

Tensor average_pool(const Tensor& x, const Window& w, bool counts_padding, std::optional<int64_t> divisor) {
  switch (w.size.size()) {
    case 1:
      return at::avg_pool1d(x, w.size, w.stride, w.padding, w.ceil, counts_padding);
    case 2:
      return at::avg_pool2d(x, w.size, w.stride, w.padding, w.ceil, counts_padding, divisor);
    default:
      // The CPU has no FP16 kernel for it.
      return at::avg_pool3d(x.scalar_type() == at::kHalf ? x.to(at::kFloat) : x, w.size, w.stride, w.padding, w.ceil,
                            counts_padding, divisor)
          .to(x.scalar_type());
  }
}

/// The padded elements are zeros; they count unless `counts_padding` is false.
Tensor same_average_pool(const Tensor& x, Window window, bool at_end, bool counts_padding) {
  const Tensor sums = padded(x, window, at_end, 0);
  const Tensor real = padded(at::ones_like(x), window, at_end, 0);
  window.padding.assign(window.size.size(), 0);
  const Tensor averages = average_pool(sums, window, true, {});
  return counts_padding ? averages : averages / average_pool(real, window, true, {});
}

/// Padding changes no maximum.
Tensor same_max_pool(const Tensor& x, Window window, bool at_end) {
  const Tensor input = padded(x, window, at_end, -std::numeric_limits<double>::infinity());
  window.padding.assign(window.size.size(), 0);
  return max_pool(input, window);
}

Tensor adaptive_average_pool(const Call& c) {
  const Sizes out = c.list("out", c.list("window"));
  expect_rank(out.size());
  if (out.size() == 1) return at::adaptive_avg_pool1d(c[0], out);
  return out.size() == 2 ? at::adaptive_avg_pool2d(c[0], out) : at::adaptive_avg_pool3d(c[0], out);
}

Tensor pooling(const Call& c) {
  const auto kind = c.kind<PoolingKind>("kind");
  if (kind == PoolingKind::ADAPTIVE_AVERAGE) return adaptive_average_pool(c);
  const Window window = window_of(c);
  const bool counts_padding = c.integer("excludes_padding", 1) == 0;
  const auto mode = c.kind<PaddingMode>("padding_mode");
  const bool same = mode == PaddingMode::SAME_UPPER || mode == PaddingMode::SAME_LOWER;
  if (kind == PoolingKind::MAX) {
    return same ? same_max_pool(c[0], window, mode == PaddingMode::SAME_UPPER) : max_pool(c[0], window);
  }
  TORCH_CHECK_VALUE(kind == PoolingKind::AVERAGE, "pooling ", c.integer("kind"), " is none of 0 to 2");
  if (same) return same_average_pool(c[0], window, mode == PaddingMode::SAME_UPPER, counts_padding);
  return average_pool(c[0], window, counts_padding, optional_integer(c, "divisor"));
}

Tensors max_pool_with_indices(const Call& c) {
  const Window w = window_of(c);
  const auto both = [&] {
    if (w.size.size() == 1) return at::max_pool1d_with_indices(c[0], w.size, w.stride, w.padding, w.dilation, w.ceil);
    if (w.size.size() == 2) return at::max_pool2d_with_indices(c[0], w.size, w.stride, w.padding, w.dilation, w.ceil);
    return at::max_pool3d_with_indices(c[0], w.size, w.stride, w.padding, w.dilation, w.ceil);
  }();
  return {std::get<0>(both), std::get<1>(both)};
}

Tensors adaptive_max_pool(const Call& c) {
  const Sizes out = c.list("out");
  expect_rank(out.size());
  const auto both = [&] {
    if (out.size() == 1) return at::adaptive_max_pool1d(c[0], out);
    return out.size() == 2 ? at::adaptive_max_pool2d(c[0], out) : at::adaptive_max_pool3d(c[0], out);
  }();
  return {std::get<0>(both), std::get<1>(both)};
}

const Operation kPoolingOperations[] = {
    {"AdaptiveMaxPooling", 1, adaptive_max_pool},
    {"MaxPoolingWithIndices", 1, max_pool_with_indices},
    {"Pooling", 1, [](const Call& c) -> Tensors { return {pooling(c)}; }},
};

}  // namespace

Table pooling() { return kPoolingOperations; }

}  // namespace AscendIE
