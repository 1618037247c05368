// native/opapi/ops/vision/deformable.cpp
// Sampling of images at points that are data: deformable convolution, and attention over several feature maps.
#include "opapi/ops/common/precision.h"

namespace {

// Pixels as the coordinates of ATen's grids, whose -1 and 1 are the outer edges of the first and the last pixel.
at::Tensor grid_coordinate(const at::Tensor& pixel, int64_t size) {
  return (pixel * 2 + 1) / static_cast<double>(size) - 1;
}

constexpr int64_t kBilinear = 0, kZeros = 0;

at::Tensor sampled_at(const at::Tensor& images, const at::Tensor& grid) {
  return at::grid_sampler_2d(images, grid, kBilinear, kZeros, /*align_corners=*/false);
}

// ---- deformable convolution

struct Windows {
  at::IntArrayRef kernel, stride, padding, dilation;
};

// The pixels along one dimension that a kernel sees, one place of the kernel after the other: [outputs * kernel].
at::Tensor window_places(const Windows& windows, int64_t outputs, size_t dim) {
  const at::Tensor starts = at::arange(outputs) * windows.stride[2 + dim] - windows.padding[2 * dim];
  return (starts.unsqueeze(1) + at::arange(windows.kernel[dim]) * windows.dilation[2 + dim]).flatten().to(at::kFloat);
}

// The values under each window: [N, C, outputs * kernel, outputs * kernel].
at::Tensor deformed(const at::Tensor& x, const at::Tensor& offset, const Windows& windows, int64_t groups) {
  const int64_t n = x.size(0), channels = x.size(1) / groups, height = offset.size(2), width = offset.size(3);
  const int64_t kernel_h = windows.kernel[0], kernel_w = windows.kernel[1];
  // Columns, rows and factors, each for every group and place of the kernel.
  const at::Tensor parts = offset.reshape({n, 3, groups, kernel_h, kernel_w, height, width})
                               .permute({1, 2, 0, 5, 3, 6, 4})
                               .reshape({3, groups, n, height * kernel_h, width * kernel_w});
  const at::Tensor columns = window_places(windows, width, 1), rows = window_places(windows, height, 0).unsqueeze(1);
  std::vector<at::Tensor> results;
  for (int64_t group = 0; group < groups; ++group) {
    const at::Tensor grid = at::stack(
        {grid_coordinate(parts[0][group] + columns, x.size(3)), grid_coordinate(parts[1][group] + rows, x.size(2))},
        -1);
    const at::Tensor sampled = sampled_at(x.narrow(1, group * channels, channels), grid);
    results.push_back(sampled * parts[2][group].unsqueeze(1));
  }
  return at::cat(results, 1);
}

void deformable_convolution(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& offset,
                            const OptionalTensor& bias, const Windows& windows, int64_t groups, int64_t offset_groups,
                            bool modulated, at::Tensor& out, at::Tensor& deform_out) {
  require(modulated, ACLNN_ERR_PARAM_INVALID, "modulated is false; allowed: true");
  require(windows.kernel.size() == 2 && windows.stride.size() == 4 && windows.padding.size() == 4 &&
              windows.dilation.size() == 4,
          ACLNN_ERR_PARAM_INVALID, "kernelSize, stride, padding and dilation have ", windows.kernel.size(), ", ",
          windows.stride.size(), ", ", windows.padding.size(), " and ", windows.dilation.size(),
          " numbers; allowed: 2, 4, 4, 4");
  require(input.dim() == 4 && offset.dim() == 4 && offset_groups > 0 && input.size(1) % offset_groups == 0,
          ACLNN_ERR_PARAM_INVALID, "x has the shape ", input.sizes(), " and offset ", offset.sizes(), " for ",
          offset_groups, " deformableGroups; allowed: 4 dimensions, and channels that the groups divide");
  const int64_t taps = windows.kernel[0] * windows.kernel[1];
  require(offset.size(1) == 3 * offset_groups * taps, ACLNN_ERR_PARAM_INVALID, "offset has ", offset.size(1),
          " channels; ", offset_groups, " groups of ", taps, " places need ", 3 * offset_groups * taps);
  const at::Tensor samples = deformed(to_float(input), to_float(offset), windows, offset_groups);
  const OptionalTensor shift = bias ? OptionalTensor(to_float(*bias)) : std::nullopt;
  assign(out, at::convolution(samples, to_float(weight), shift, windows.kernel, at::IntArrayRef{0, 0},
                              at::IntArrayRef{1, 1}, /*transposed=*/false, at::IntArrayRef{0, 0}, groups));
  if (deform_out.defined()) assign(deform_out, samples);
}

// ---- attention over feature maps

struct FeatureMap {
  int64_t begin, height, width;
};

std::vector<FeatureMap> feature_maps(const at::Tensor& shapes, const at::Tensor& starts, const at::Tensor& value) {
  std::vector<FeatureMap> maps;
  for (int64_t level = 0; level < shapes.size(0); ++level) {
    const FeatureMap map{starts[level].item<int64_t>(), shapes[level][0].item<int64_t>(),
                         shapes[level][1].item<int64_t>()};
    require(map.height > 0 && map.width > 0 && map.begin >= 0 && map.begin + map.height * map.width <= value.size(1),
            ACLNN_ERR_PARAM_INVALID, "feature map ", level, " has ", map.height, " x ", map.width, " keys from ",
            map.begin, " on; value has ", value.size(1));
    maps.push_back(map);
  }
  return maps;
}

void check_attention(const at::Tensor& value, const at::Tensor& shapes, const at::Tensor& starts,
                     const at::Tensor& location, const at::Tensor& weight) {
  require(value.dim() == 4 && location.dim() == 6 && weight.dim() == 5 && location.size(5) == 2 &&
              location.sizes().slice(0, 5) == weight.sizes() && location.size(2) == value.size(2),
          ACLNN_ERR_PARAM_INVALID, "value, location and attnWeight have the shapes ", value.sizes(), ", ",
          location.sizes(), " and ", weight.sizes(),
          "; allowed: [B, keys, heads, C], [B, queries, heads, levels, points, 2] and the same without the 2");
  require(shapes.dim() == 2 && shapes.size(1) == 2 && shapes.size(0) == location.size(3) &&
              starts.numel() == location.size(3),
          ACLNN_ERR_PARAM_INVALID, "spatialShape and levelStartIndex have the shapes ", shapes.sizes(), " and ",
          starts.sizes(), " for ", location.size(3), " levels");
}

// [B, ., heads, ...] with the heads as part of the batch.
at::Tensor by_heads(const at::Tensor& tensor) { return tensor.transpose(1, 2).flatten(0, 1); }

// The part of `value` that is one feature map, as images [B * heads, C, height, width].
at::Tensor image_of(const at::Tensor& value, const FeatureMap& map) {
  return by_heads(value.narrow(1, map.begin, map.height * map.width))
      .transpose(1, 2)
      .unflatten(2, {map.height, map.width});
}

void deformable_attention(const at::Tensor& features, const at::Tensor& shapes, const at::Tensor& starts,
                          const at::Tensor& location, const at::Tensor& weight, at::Tensor& out) {
  check_attention(features, shapes, starts, location, weight);
  const at::Tensor value = widened(features), grids = widened(location) * 2 - 1, weights = widened(weight);
  const std::vector<FeatureMap> maps = feature_maps(shapes, starts, features);
  const int64_t heads = value.size(2), channels = value.size(3), queries = location.size(1);
  at::Tensor sum = at::zeros({value.size(0) * heads, channels, queries}, value.options());
  for (size_t level = 0; level < maps.size(); ++level) {
    const auto at_level = static_cast<int64_t>(level);
    const at::Tensor sampled = sampled_at(image_of(value, maps[level]), by_heads(grids.select(3, at_level)));
    sum.add_((sampled * by_heads(weights.select(3, at_level)).unsqueeze(1)).sum(-1));
  }
  assign(out, sum.unflatten(0, {value.size(0), heads}).permute({0, 3, 1, 2}).flatten(2));
}

void deformable_attention_backward(const at::Tensor& features, const at::Tensor& shapes, const at::Tensor& starts,
                                   const at::Tensor& location, const at::Tensor& weight, const at::Tensor& grad,
                                   at::Tensor& grad_value, at::Tensor& grad_location, at::Tensor& grad_weight) {
  check_attention(features, shapes, starts, location, weight);
  const at::Tensor value = widened(features), grids = widened(location) * 2 - 1, weights = widened(weight);
  const std::vector<FeatureMap> maps = feature_maps(shapes, starts, features);
  const int64_t batch = value.size(0), heads = value.size(2), channels = value.size(3), queries = location.size(1);
  const at::Tensor by_output =
      by_heads(widened(grad).reshape({batch, queries, heads, channels})).transpose(1, 2).unsqueeze(-1);
  at::Tensor by_value = at::zeros(value.sizes(), value.options());
  at::Tensor by_location = at::zeros(grids.sizes(), value.options());
  at::Tensor by_weight = at::zeros(weights.sizes(), value.options());
  const auto of_heads = [&](const at::Tensor& tensor) { return tensor.unflatten(0, {batch, heads}).transpose(1, 2); };
  for (size_t level = 0; level < maps.size(); ++level) {
    const auto at_level = static_cast<int64_t>(level);
    const FeatureMap& map = maps[level];
    const at::Tensor image = image_of(value, map), grid = by_heads(grids.select(3, at_level));
    by_weight.select(3, at_level).copy_(of_heads((sampled_at(image, grid) * by_output).sum(1)));
    const at::Tensor by_sample = by_output * by_heads(weights.select(3, at_level)).unsqueeze(1);
    const auto [by_image, by_grid] =
        at::grid_sampler_2d_backward(by_sample, image, grid, kBilinear, kZeros, /*align_corners=*/false, {true, true});
    by_location.select(3, at_level).copy_(of_heads(by_grid) * 2);
    by_value.narrow(1, map.begin, map.height * map.width).add_(of_heads(by_image.flatten(2).transpose(1, 2)));
  }
  assign(grad_value, by_value);
  assign(grad_location, by_location);
  assign(grad_weight, by_weight);
}

}  // namespace

ACLNN(DeformableConv2d,
      (In, x)(In, weight)(In, offset)(OptIn, biasOptional)(Ints, kernelSize)(Ints, stride)(Ints, padding)(
          Ints, dilation)(Int, groups)(Int, deformableGroups)(Bool, modulated)(Out, out)(OptOut, deformOutOptional),
      deformable_convolution(x, weight, offset, biasOptional, {kernelSize, stride, padding, dilation}, groups,
                             deformableGroups, modulated, out, deformOutOptional))
ACLNN(MultiScaleDeformableAttnFunction,
      (In, value)(Index, spatialShape)(Index, levelStartIndex)(In, location)(In, attnWeight)(Out, output),
      deformable_attention(value, spatialShape, levelStartIndex, location, attnWeight, output))
ACLNN(MultiScaleDeformableAttentionGrad,
      (In, value)(Index, spatialShape)(Index, levelStartIndex)(In, location)(In, attnWeight)(In, gradOutput)(
          Out, gradValue)(Out, gradLocation)(Out, gradAttnWeight),
      deformable_attention_backward(value, spatialShape, levelStartIndex, location, attnWeight, gradOutput, gradValue,
                                    gradLocation, gradAttnWeight))
