// native/opapi/ops/vision/roi_align.cpp
// Features of regions, sampled bilinearly. Sampling is linear and separable: for each region two matrices,
// one for each axis, take features to bins; their transposes take gradients back. Where a bin is the largest of its
// samples instead, the matrices take features to samples.
#include "opapi/opapi.h"

namespace {

// How the end of a region is read: as it is, with one pixel more, or with half a pixel less at both ends.
enum EndMode : int64_t { kAsGiven = 0, kOnePixelMore = 1, kHalfPixelLess = 2 };

struct Pooling {
  float scale;
  int64_t height, width, samples, end_mode;
  bool is_largest = false;  // the mean otherwise
};

struct Span {
  double begin, length;
};

// float32 does not distinguish the pixels beyond. It bounds the samples of a bin, too.
constexpr int64_t kFarthest = 1 << 24;

Span span_of(double begin, double end, const Pooling& pooling) {
  const double scale = pooling.scale, more = pooling.end_mode == kOnePixelMore ? 1 : 0;
  const Span span{begin * scale, (end + more - begin) * scale};
  require(std::abs(span.begin) <= kFarthest && std::abs(span.length) <= kFarthest,  // false for NaN
          ACLNN_ERR_PARAM_INVALID, "rois has a region from ", begin, " to ", end, ", times the scale ", scale,
          "; allowed: finite numbers up to 2^24");
  if (pooling.end_mode == kHalfPixelLess) return {span.begin - 0.5, span.length};
  return {span.begin, std::max(span.length, 1.0)};
}

// A row for each bin, or for each sample of a bin: the weights of the `size` pixels of the axis.
at::Tensor weights_of(const Span& span, int64_t bins, const Pooling& pooling, int64_t size) {
  const double bin = span.length / static_cast<double>(bins);
  const int64_t count =
      pooling.samples > 0 ? pooling.samples : std::max<int64_t>(static_cast<int64_t>(std::ceil(bin)), 1);
  at::Tensor weights = at::zeros({pooling.is_largest ? bins * count : bins, size}, at::kFloat);
  auto weight = weights.accessor<float, 2>();
  const auto share = pooling.is_largest ? 1 : 1 / static_cast<float>(count);
  for (int64_t b = 0; b < bins; ++b) {
    for (int64_t s = 0; s < count; ++s) {
      const double at =
          span.begin + bin * (static_cast<double>(b) + (static_cast<double>(s) + 0.5) / static_cast<double>(count));
      if (at < -1 || at > static_cast<double>(size)) continue;  // beyond the border: 0
      const double inside = std::clamp(at, 0.0, static_cast<double>(size - 1));
      const auto low = static_cast<int64_t>(inside);
      const auto part = static_cast<float>(inside - static_cast<double>(low));
      const int64_t row = pooling.is_largest ? b * count + s : b;
      weight[row][low] += share * (1 - part);
      if (low + 1 < size) weight[row][low + 1] += share * part;
    }
  }
  return weights;
}

struct Region {
  int64_t image;
  at::Tensor rows, columns;
};

Region region_of(const at::Tensor& roi, const Pooling& pooling, at::IntArrayRef features) {
  const auto value = roi.accessor<float, 1>();
  require(value[0] >= 0 && value[0] < static_cast<double>(features[0]), ACLNN_ERR_PARAM_INVALID, "rois names image ",
          value[0], "; there are ", features[0]);
  return {static_cast<int64_t>(value[0]),
          weights_of(span_of(value[2], value[4], pooling), pooling.height, pooling, features[2]),
          weights_of(span_of(value[1], value[3], pooling), pooling.width, pooling, features[3])};
}

void check(const at::Tensor& rois, at::IntArrayRef features, const Pooling& pooling) {
  require(features.size() == 4 && features[2] > 0 && features[3] > 0, ACLNN_ERR_PARAM_INVALID,
          "the features have shape ", features, "; allowed: 4 dimensions (NCHW), images with pixels");
  require(rois.dim() == 2 && rois.size(1) == 5, ACLNN_ERR_PARAM_INVALID, "rois has the shape ", rois.sizes(),
          "; allowed: [regions, 5] (image, x0, y0, x1, y1)");
  require(pooling.end_mode >= kAsGiven && pooling.end_mode <= kHalfPixelLess, ACLNN_ERR_PARAM_INVALID, "roiEndMode is ",
          pooling.end_mode, "; allowed: 0, 1, 2");
  require(pooling.height > 0 && pooling.width > 0 && pooling.samples >= 0 && pooling.samples <= kFarthest,
          ACLNN_ERR_PARAM_INVALID, "pooledHeight, pooledWidth and sampleNum are ", pooling.height, ", ", pooling.width,
          ", ", pooling.samples, "; allowed: positive sizes, 0 to ", kFarthest, " samples");
}

void roi_align(const at::Tensor& features, const at::Tensor& rois, const Pooling& pooling, at::Tensor& out) {
  check(rois, features.sizes(), pooling);
  const at::Tensor wide = features.to(at::kFloat), places = rois.to(at::kFloat).contiguous();
  at::Tensor result = at::empty(out.sizes(), wide.options());
  for (int64_t r = 0; r < places.size(0); ++r) {
    const Region region = region_of(places[r], pooling, features.sizes());
    at::Tensor values = region.rows.matmul(wide[region.image]).matmul(region.columns.t());
    if (pooling.is_largest) {
      values = values
                   .view({values.size(0), pooling.height, region.rows.size(0) / pooling.height, pooling.width,
                          region.columns.size(0) / pooling.width})
                   .amax({2, 4});
    }
    result[r].copy_(values);
  }
  assign(out, result);
}

void roi_align_backward(const at::Tensor& grad, const at::Tensor& rois, at::IntArrayRef features,
                        const Pooling& pooling, at::Tensor& out) {
  check(rois, features, pooling);
  const at::Tensor wide = grad.to(at::kFloat), places = rois.to(at::kFloat).contiguous();
  at::Tensor result = at::zeros(features, wide.options());
  for (int64_t r = 0; r < places.size(0); ++r) {
    const Region region = region_of(places[r], pooling, features);
    result[region.image].add_(region.rows.t().matmul(wide[r]).matmul(region.columns));
  }
  assign(out, result);
}

// Image numbers in a tensor of their own.
at::Tensor with_images(const at::Tensor& rois, const at::Tensor& images) {
  require(rois.dim() == 2 && rois.size(1) == 4 && images.dim() == 1 && images.size(0) == rois.size(0),
          ACLNN_ERR_PARAM_INVALID, "rois and batchIndices have the shapes ", rois.sizes(), " and ", images.sizes(),
          "; allowed: [regions, 4] and [regions]");
  return at::cat({images.to(at::kFloat).unsqueeze(1), rois.to(at::kFloat)}, 1);
}

bool is_largest(const std::string& mode) {
  require(mode == "avg" || mode == "max", ACLNN_ERR_PARAM_INVALID, "parameter 'mode' is '", mode,
          "'; allowed: 'avg', 'max'");
  return mode == "max";
}

int64_t end_mode(bool aligned) { return aligned ? kHalfPixelLess : kAsGiven; }

}  // namespace

ACLNN(ROIAlign,
      (In, self)(In, rois)(Float, spatialScale)(Int, pooledHeight)(Int, pooledWidth)(Int, sampleNum)(Int,
                                                                                                     roiEndMode)(Out,
                                                                                                                 out),
      roi_align(self, rois, {spatialScale, pooledHeight, pooledWidth, sampleNum, roiEndMode}, out))
ACLNN(ROIAlignBackward,
      (In, gradOutput)(In, rois)(Ints, xdiffShape)(Int, pooledWidth)(Int, pooledHeight)(Float, spatialScale)(
          Int, sampleNum)(Int, roiEndMode)(Out, out),
      roi_align_backward(gradOutput, rois, xdiffShape, {spatialScale, pooledHeight, pooledWidth, sampleNum, roiEndMode},
                         out))
ACLNN(RoiAlign,
      (In, self)(In, rois)(In, batchIndices)(Text, mode)(Int32, outputHeight)(Int32, outputWidth)(Int32, samplingRatio)(
          Float, spatialScale)(Out, out),
      roi_align(self, with_images(rois, batchIndices),
                {spatialScale, outputHeight, outputWidth, samplingRatio, kAsGiven, is_largest(mode)}, out))
ACLNN(RoiAlignV2,
      (In, self)(In, boxes)(Int, pooledHeight)(Int, pooledWidth)(Float, spatialScale)(Int, samplingRatio)(Bool,
                                                                                                          aligned)(Out,
                                                                                                                   out),
      roi_align(self, boxes, {spatialScale, pooledHeight, pooledWidth, samplingRatio, end_mode(aligned)}, out))
ACLNN(RoiAlignV2Backward,
      (In, gradOutput)(In, boxes)(Ints, inputShape)(Int, pooledHeight)(Int, pooledWidth)(Float, spatialScale)(
          Int, samplingRatio)(Bool, aligned)(Out, gradInput),
      roi_align_backward(gradOutput, boxes, inputShape,
                         {spatialScale, pooledHeight, pooledWidth, samplingRatio, end_mode(aligned)}, gradInput))
