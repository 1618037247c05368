// native/opapi/ops/vision/upsample.cpp
// Resampling of images: to a size (nearest, linear, cubic, with and without antialiasing), and at the points of a grid.
#include "opapi/ops/common/precision.h"

namespace {

// A scale of 0 or -1 means that only the sizes decide.
std::optional<double> scale_of(double given) { return given > 0 ? std::optional<double>(given) : std::nullopt; }

void grid_gradients(const std::tuple<at::Tensor, at::Tensor>& gradients, at::Tensor& by_input, at::Tensor& by_grid) {
  if (std::get<0>(gradients).defined()) assign(by_input, std::get<0>(gradients));
  if (std::get<1>(gradients).defined()) assign(by_grid, std::get<1>(gradients));
}

// The size of `out` is that of `self` times the scales, rounded down; a scale that float32 does not hold may miss it by
// one in either direction.
void require_resized(const at::Tensor& self, c10::ArrayRef<float> scales, const at::Tensor& out) {
  constexpr double kTolerance = 1e-5;
  require(
      self.dim() == 4 && out.dim() == 4 && scales.size() == 4 && out.sizes().slice(0, 2) == self.sizes().slice(0, 2),
      ACLNN_ERR_PARAM_INVALID, "self and out have the shapes ", self.sizes(), " and ", out.sizes(), ", with ",
      scales.size(), " scales; allowed: 4 dimensions (NCHW), the same images and channels, 4 scales");
  for (size_t i = 2; i < 4; ++i) {
    const auto dim = static_cast<int64_t>(i);
    const auto size = static_cast<double>(self.size(dim)), by = static_cast<double>(scales[i]);
    require(out.size(dim) >= static_cast<int64_t>(size * (by - kTolerance)) &&
                out.size(dim) <= static_cast<int64_t>(size * (by + kTolerance)),
            ACLNN_ERR_PARAM_INVALID, "out has the shape ", out.sizes(), "; in dimension ", dim, " it must have ",
            self.size(dim), " * ", by);
  }
}

void resize(const at::Tensor& self, c10::ArrayRef<float> scales, const std::string& mode, at::Tensor& out) {
  require_resized(self, scales, out);
  const at::IntArrayRef size = out.sizes().slice(2);
  if (mode == "nearest") return assign(out, at::upsample_nearest2d(self, size));
  require(mode == "bilinear", ACLNN_ERR_PARAM_INVALID, "parameter 'mode' is '", mode, "'; allowed: nearest, bilinear");
  assign(out, at::upsample_bilinear2d(widened(self), size, /*align_corners=*/false));
}

// The gradient of points that are weighted sums of three points each.
void interpolate_backward(const at::Tensor& grad, const at::Tensor& index, const at::Tensor& weight, int64_t points,
                          at::Tensor& out) {
  require(grad.dim() == 3 && index.dim() == 3 && index.size(2) == 3 && index.sizes() == weight.sizes() &&
              index.size(0) == grad.size(0) && index.size(1) == grad.size(2),
          ACLNN_ERR_PARAM_INVALID, "grad_x, idx and weight have the shapes ", grad.sizes(), ", ", index.sizes(),
          " and ", weight.sizes(), "; allowed: [B, C, N], twice [B, N, 3]");
  const at::Tensor shares = grad.to(at::kFloat).unsqueeze(3) * weight.to(at::kFloat).unsqueeze(1);
  const at::Tensor places = index.unsqueeze(1).expand(shares.sizes()).flatten(2);
  assign(out, at::zeros({grad.size(0), grad.size(1), points}, at::kFloat).scatter_add_(2, places, shares.flatten(2)));
}

}  // namespace

// Each mode has a forward function (input, output size, ..., scales) and a gradient that also gets the input's size.
#define UPSAMPLE_1D(NAME, FUNCTION)                                                                 \
  ACLNN(NAME, (In, self)(Ints, outputSize)(Double, scales)(Out, out),                               \
        at::FUNCTION##_out(out, self, outputSize, scale_of(scales)))                                \
  ACLNN(NAME##Backward, (In, gradOut)(Ints, outputSize)(Ints, inputSize)(Double, scales)(Out, out), \
        at::FUNCTION##_backward_out(out, gradOut, outputSize, inputSize, scale_of(scales)))
#define UPSAMPLE_2D(NAME, FUNCTION)                                                                                   \
  ACLNN(NAME, (In, self)(Ints, outputSize)(Double, scalesH)(Double, scalesW)(Out, out),                               \
        at::FUNCTION##_out(out, self, outputSize, scale_of(scalesH), scale_of(scalesW)))                              \
  ACLNN(NAME##Backward, (In, gradOut)(Ints, outputSize)(Ints, inputSize)(Double, scalesH)(Double, scalesW)(Out, out), \
        at::FUNCTION##_backward_out(out, gradOut, outputSize, inputSize, scale_of(scalesH), scale_of(scalesW)))
#define UPSAMPLE_3D(NAME, FUNCTION)                                                                                    \
  ACLNN(NAME, (In, self)(Ints, outputSize)(Double, scalesD)(Double, scalesH)(Double, scalesW)(Out, out),               \
        at::FUNCTION##_out(out, self, outputSize, scale_of(scalesD), scale_of(scalesH), scale_of(scalesW)))            \
  ACLNN(NAME##Backward,                                                                                                \
        (In, gradOut)(Ints, outputSize)(Ints, inputSize)(Double, scalesD)(Double, scalesH)(Double, scalesW)(Out, out), \
        at::FUNCTION##_backward_out(out, gradOut, outputSize, inputSize, scale_of(scalesD), scale_of(scalesH),         \
                                    scale_of(scalesW)))
#define ALIGNED_UPSAMPLE_2D(NAME, FUNCTION)                                                                          \
  ACLNN(NAME, (In, self)(Ints, outputSize)(Bool, alignCorners)(Double, scalesH)(Double, scalesW)(Out, out),          \
        rounded_once(out, [&](at::Tensor& target) {                                                                  \
          at::FUNCTION##_out(target, widened(self), outputSize, alignCorners, scale_of(scalesH), scale_of(scalesW)); \
        }))
#define ALIGNED_UPSAMPLE_2D_BACKWARD(NAME, FUNCTION)                                                                 \
  ACLNN(NAME,                                                                                                        \
        (In, gradOut)(Ints, outputSize)(Ints, inputSize)(Bool, alignCorners)(Double, scalesH)(Double, scalesW)(Out,  \
                                                                                                               out), \
        rounded_once(out, [&](at::Tensor& target) {                                                                  \
          at::FUNCTION##_out(target, widened(gradOut), outputSize, inputSize, alignCorners, scale_of(scalesH),       \
                             scale_of(scalesW));                                                                     \
        }))

ACLNN(UpsampleNearest1d, (In, self)(Ints, outputSize)(Out, out), at::upsample_nearest1d_out(out, self, outputSize))
ACLNN(UpsampleNearest1dV2, (In, self)(Ints, outputSize)(Float, scaleL)(Out, out),
      at::upsample_nearest1d_out(out, self, outputSize, scale_of(scaleL)))
ACLNN(UpsampleNearest1dBackward, (In, gradOut)(Ints, outputSize)(Ints, inputSize)(Double, scales)(Out, out),
      at::upsample_nearest1d_backward_out(out, gradOut, outputSize, inputSize, scale_of(scales)))
ACLNN(UpsampleNearest2d, (In, self)(Ints, outputSize)(Out, out), at::upsample_nearest2d_out(out, self, outputSize))
ACLNN(UpsampleNearest2dV2, (In, self)(Ints, outputSize)(Float, scalesH)(Float, scalesW)(Out, out),
      at::upsample_nearest2d_out(out, self, outputSize, scale_of(scalesH), scale_of(scalesW)))
ACLNN(UpsampleNearest2dBackward,
      (In, gradOut)(Ints, outputSize)(Ints, inputSize)(Double, scalesH)(Double, scalesW)(Out, gradInput),
      at::upsample_nearest2d_backward_out(gradInput, gradOut, outputSize, inputSize, scale_of(scalesH),
                                          scale_of(scalesW)))
UPSAMPLE_3D(UpsampleNearest3d, upsample_nearest3d)
UPSAMPLE_1D(UpsampleNearestExact1d, _upsample_nearest_exact1d)
UPSAMPLE_2D(UpsampleNearestExact2d, _upsample_nearest_exact2d)
UPSAMPLE_3D(UpsampleNearestExact3d, _upsample_nearest_exact3d)

ACLNN(UpsampleLinear1d, (In, self)(Ints, outputSize)(Bool, alignCorners)(Double, scale)(Out, out),
      rounded_once(out, [&](at::Tensor& target) {
        at::upsample_linear1d_out(target, widened(self), outputSize, alignCorners, scale_of(scale));
      }))
ACLNN(UpsampleLinear1dBackward,
      (In, gradOut)(Ints, outputSize)(Ints, inputSize)(Bool, alignCorners)(Double, scales)(Out, out),
      rounded_once(out, [&](at::Tensor& target) {
        at::upsample_linear1d_backward_out(target, widened(gradOut), outputSize, inputSize, alignCorners,
                                           scale_of(scales));
      }))
ALIGNED_UPSAMPLE_2D(UpsampleBilinear2d, upsample_bilinear2d)
ALIGNED_UPSAMPLE_2D_BACKWARD(UpsampleBilinear2dBackward, upsample_bilinear2d_backward)
ALIGNED_UPSAMPLE_2D_BACKWARD(UpsampleBilinear2dBackwardV2, upsample_bilinear2d_backward)
ALIGNED_UPSAMPLE_2D(UpsampleBilinear2dAA, _upsample_bilinear2d_aa)
ALIGNED_UPSAMPLE_2D_BACKWARD(UpsampleBilinear2dAABackward, _upsample_bilinear2d_aa_backward)
ALIGNED_UPSAMPLE_2D(UpsampleBicubic2d, upsample_bicubic2d)
ALIGNED_UPSAMPLE_2D_BACKWARD(UpsampleBicubic2dBackward, upsample_bicubic2d_backward)
ALIGNED_UPSAMPLE_2D(UpsampleBicubic2dAA, _upsample_bicubic2d_aa)
ALIGNED_UPSAMPLE_2D_BACKWARD(UpsampleBicubic2dAAGrad, _upsample_bicubic2d_aa_backward)
ACLNN(UpsampleTrilinear3d,
      (In, self)(Ints, outputSize)(Bool, alignCorners)(Double, scalesD)(Double, scalesH)(Double, scalesW)(Out, out),
      rounded_once(out, [&](at::Tensor& target) {
        at::upsample_trilinear3d_out(target, widened(self), outputSize, alignCorners, scale_of(scalesD),
                                     scale_of(scalesH), scale_of(scalesW));
      }))
ACLNN(UpsampleTrilinear3dBackward,
      (In, gradOut)(Ints, outputSize)(Ints, inputSize)(Bool, alignCorners)(Double, scalesD)(Double, scalesH)(
          Double, scalesW)(Out, gradInput),
      rounded_once(gradInput, [&](at::Tensor& target) {
        at::upsample_trilinear3d_backward_out(target, widened(gradOut), outputSize, inputSize, alignCorners,
                                              scale_of(scalesD), scale_of(scalesH), scale_of(scalesW));
      }))

ACLNN(Resize, (In, self)(Floats, scales)(Text, mode)(Out, out), resize(self, scales, mode, out))
ACLNN(ThreeInterpolateBackward, (In, grad_x)(Index, idx)(In, weight)(Int32, m)(Out, grad_y),
      interpolate_backward(grad_x, idx, weight, m, grad_y))

#define GRID_SAMPLER(NAME, FUNCTION)                                                                                  \
  ACLNN(NAME, (In, input)(In, grid)(Int, interpolationMode)(Int, paddingMode)(Bool, alignCorners)(Out, out),          \
        assign(out, at::FUNCTION(widened(input), widened(grid), interpolationMode, paddingMode, alignCorners)))       \
  ACLNN(NAME##Backward,                                                                                               \
        (In, gradOutput)(In, input)(In, grid)(Int, interpolationMode)(Int, paddingMode)(Bool, alignCorners)(          \
            Bools, outputMask)(OptOut, inputGrad)(OptOut, gridGrad),                                                  \
        grid_gradients(at::FUNCTION##_backward(widened(gradOutput), widened(input), widened(grid), interpolationMode, \
                                               paddingMode, alignCorners, mask<2>(outputMask)),                       \
                       inputGrad, gridGrad))
GRID_SAMPLER(GridSampler2D, grid_sampler_2d)
GRID_SAMPLER(GridSampler3D, grid_sampler_3d)
ACLNN(AffineGrid, (In, theta)(Ints, size)(Bool, alignCorners)(Out, out),
      assign(out, at::affine_grid_generator(theta, size, alignCorners)))

#undef UPSAMPLE_1D
#undef UPSAMPLE_2D
#undef UPSAMPLE_3D
#undef ALIGNED_UPSAMPLE_2D
#undef ALIGNED_UPSAMPLE_2D_BACKWARD
#undef GRID_SAMPLER
