// operations/normalization.cpp: normalization over axes of one tensor, of groups of channels, of single channels.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/var_mean.h>
#include <c10/util/Exception.h>

#include <bit>
#include <utility>

#include "operations/optional.h"
#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

struct Normalized {
  Tensor x, scale, bias;  // the last two may be undefined
  std::vector<int64_t> axes;
  double epsilon = 0;
};

Normalized normalized(const Call& c) {
  Normalized n{c[0], {}, {}, {}, c.real("epsilon", 1e-5)};
  size_t next = 1;
  if (c.integer("scale") != 0) n.scale = c[next++];
  if (next < c.operands().size()) n.bias = c[next];
  const auto mask = static_cast<uint64_t>(c.integer("axes"));
  TORCH_CHECK_VALUE(mask != 0 && std::bit_width(mask) <= static_cast<size_t>(c[0].dim()), "the mask of axes ", mask,
                    " of an input of rank ", c[0].dim(), ", allowed are 1 to ", (uint64_t{1} << c[0].dim()) - 1);
  for (int64_t axis = 0; axis < c[0].dim(); ++axis) {
    if (mask >> axis & 1) n.axes.push_back(axis);
  }
  return n;
}

/// Whether it is what at::layer_norm computes: the last axes, scale and bias of their shape.
bool is_layer_norm(const Normalized& n, at::IntArrayRef shape) {
  const bool last = n.axes.front() + static_cast<int64_t>(n.axes.size()) == n.x.dim();
  const auto fits = [&](const Tensor& t) { return !t.defined() || t.sizes() == shape; };
  return last && fits(n.scale) && fits(n.bias);
}

Tensor normalization(const Call& c) {
  const Normalized n = normalized(c);
  const at::IntArrayRef shape = n.x.sizes().slice(n.axes.front());
  if (is_layer_norm(n, shape)) {
    if (n.x.is_meta()) return at::empty_like(n.x, at::MemoryFormat::Contiguous);
    return at::layer_norm(n.x, shape, n.scale, n.bias, n.epsilon);
  }
  const auto [variance, mean] = at::var_mean(n.x, n.axes, /*unbiased=*/false, /*keepdim=*/true);
  Tensor y = (n.x - mean) * at::rsqrt(variance + n.epsilon);
  if (n.scale.defined()) y = y * n.scale;
  return n.bias.defined() ? y + n.bias : y;
}

/// The running statistics of the module stay as they are: an engine only reads them.
Tensor instance_norm(const Call& c) {
  const bool own_statistics = c.integer("use_input_stats") != 0;
  const auto statistic = [&](const char* name) { return own_statistics ? std::nullopt : optional_input(c, name); };
  return at::instance_norm(c[0], optional_input(c, "weight"), optional_input(c, "bias"), statistic("running_mean"),
                           statistic("running_var"), own_statistics, c.real("momentum"), c.real("eps"),
                           /*cudnn_enabled=*/false);
}

const Operation kNormalizationOperations[] = {
    {"GroupNorm", 1,
     [](const Call& c) -> Tensors {
       return {at::group_norm(c[0], c.integer("num_groups"), optional_input(c, "weight"), optional_input(c, "bias"),
                              c.real("eps"))};
     },
     Precision::kFull},
    {"InstanceNorm", 1, [](const Call& c) -> Tensors { return {instance_norm(c)}; }, Precision::kFull},
    {"Normalization", 1, [](const Call& c) -> Tensors { return {normalization(c)}; }, Precision::kFull},
};

}  // namespace

Table normalization() { return kNormalizationOperations; }

}  // namespace AscendIE
