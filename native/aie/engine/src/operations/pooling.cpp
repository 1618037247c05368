// operations/pooling.cpp: pooling.
#include <ATen/ops/adaptive_avg_pool1d.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/adaptive_avg_pool3d.h>
#include <ATen/ops/avg_pool1d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/max_pool1d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/max_pool3d.h>
#include <c10/util/Exception.h>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

Tensor adaptive_average_pool(const Tensor& x, const std::vector<int64_t>& out) {
  switch (out.size()) {
    case 1:
      return at::adaptive_avg_pool1d(x, out);
    case 2:
      return at::adaptive_avg_pool2d(x, out);
    case 3:
      return at::adaptive_avg_pool3d(x, out);
    default:
      TORCH_CHECK_VALUE(false, "the output's size has rank ", out.size(), ", allowed are 1 to 3");
  }
}

Tensor pooling(const Call& c) {
  const std::vector<int64_t> window = c.list("window");
  const auto kind = c.kind<PoolingKind>("kind");
  if (kind == PoolingKind::ADAPTIVE_AVERAGE) return adaptive_average_pool(c[0], c.list("out", window));
  const std::vector<int64_t> stride = c.list("stride", window);
  const std::vector<int64_t> padding = c.list("padding", std::vector<int64_t>(window.size(), 0));
  const std::vector<int64_t> dilation = c.list("dilation", std::vector<int64_t>(window.size(), 1));
  const bool ceil = c.integer("ceil") != 0;
  const bool counts_padding = c.integer("excludes_padding", 1) == 0;
  const bool max = kind == PoolingKind::MAX;
  switch (window.size()) {
    case 1:
      return max ? at::max_pool1d(c[0], window, stride, padding, dilation, ceil)
                 : at::avg_pool1d(c[0], window, stride, padding, ceil, counts_padding);
    case 2:
      return max ? at::max_pool2d(c[0], window, stride, padding, dilation, ceil)
                 : at::avg_pool2d(c[0], window, stride, padding, ceil, counts_padding);
    case 3:
      return max ? at::max_pool3d(c[0], window, stride, padding, dilation, ceil)
                 : at::avg_pool3d(c[0], window, stride, padding, ceil, counts_padding);
    default:
      TORCH_CHECK_VALUE(false, "the window has rank ", window.size(), ", allowed are 1 to 3");
  }
}

const Operation kOperations[] = {
    {"Pooling", 1, [](const Call& c) -> Tensors { return {pooling(c)}; }},
};

}  // namespace

Table pooling() { return kOperations; }

}  // namespace AscendIE
