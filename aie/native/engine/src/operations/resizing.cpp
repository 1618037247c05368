// operations/resizing.cpp: images and their like in other sizes: nearest, (bi-, tri-)linear and bicubic.
#include <ATen/ops/upsample_bicubic2d.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_linear1d.h>
#include <ATen/ops/upsample_nearest1d.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/upsample_nearest3d.h>
#include <ATen/ops/upsample_trilinear3d.h>
#include <c10/util/Exception.h>

#include <optional>

#include "operations/optional.h"
#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;
using Scales = std::vector<std::optional<double>>;

constexpr int64_t kHighestRank = 3;

/// Attributes scale_0 to scale_2, for the dimensions behind the channels.
Scales scales(const Call& c, int64_t rank) {
  Scales result;
  for (int64_t i = 0; i < rank; ++i) {
    result.push_back(optional_real(c, "scale_" + std::to_string(i)));
  }
  return result;
}

std::vector<int64_t> output_size(const Call& c, const Scales& scales) {
  if (c.has("output_size")) return c.list("output_size");
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < scales.size(); ++i) {
    TORCH_CHECK_VALUE(scales[i], "neither output_size nor a scale of each dimension is given");
    sizes.push_back(static_cast<int64_t>(static_cast<double>(c[0].size(static_cast<int64_t>(i) + 2)) * *scales[i]));
  }
  return sizes;
}

Tensor nearest(const Tensor& x, const std::vector<int64_t>& out, const Scales& s) {
  if (s.size() == 1) return at::upsample_nearest1d(x, out, s[0]);
  if (s.size() == 2) return at::upsample_nearest2d(x, out, s[0], s[1]);
  return at::upsample_nearest3d(x, out, s[0], s[1], s[2]);
}

Tensor linear(const Tensor& x, const std::vector<int64_t>& out, bool corners, const Scales& s) {
  if (s.size() == 1) return at::upsample_linear1d(x, out, corners, s[0]);
  if (s.size() == 2) return at::upsample_bilinear2d(x, out, corners, s[0], s[1]);
  return at::upsample_trilinear3d(x, out, corners, s[0], s[1], s[2]);
}

Tensor resize(const Call& c) {
  const int64_t rank = c[0].dim() - 2;
  TORCH_CHECK_VALUE(rank > 0 && rank <= kHighestRank, "the input has rank ", c[0].dim(), ", allowed are 3 to 5");
  const Scales given = scales(c, rank);
  const std::vector<int64_t> out = output_size(c, given);
  const bool corners = c.integer("align_corners") != 0;
  const std::string mode = c.text("mode");
  if (mode == "nearest") return nearest(c[0], out, given);
  if (mode == "linear") return linear(c[0], out, corners, given);
  TORCH_CHECK_VALUE(mode == "cubic", "mode '", mode, "', allowed are nearest, linear, cubic");
  TORCH_CHECK_VALUE(rank == 2, "mode cubic: the input has rank ", c[0].dim(), ", allowed is 4");
  return at::upsample_bicubic2d(c[0], out, corners, given[0], given[1]);
}

const Operation kResizingOperations[] = {
    {"Resize", 1, [](const Call& c) -> Tensors { return {resize(c)}; }},
};

}  // namespace

Table resizing() { return kResizingOperations; }

}  // namespace AscendIE
