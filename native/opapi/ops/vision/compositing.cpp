// native/opapi/ops/vision/compositing.cpp
// Images put over each other by a mask or by their opacity, in float32; and triangles drawn into an image.
#include "opapi/ops/common/low_precision.h"

namespace {

void require_channels(const at::Tensor& image, const at::Tensor& single, const char* name) {
  require(image.dim() == 3 && single.dim() == 3 && single.size(2) == 1 && single.size(0) == image.size(0) &&
              single.size(1) == image.size(1),
          ACLNN_ERR_PARAM_INVALID, name, " has the shape ", single.sizes(), "; it must have one channel of the image, ",
          image.sizes(), " (HWC)");
}

void store_pixels(const at::Tensor& values, at::Tensor& out) {
  assign(out, out.scalar_type() == at::kByte ? values.round().clamp_(0, 255) : values);
}

void replace_background(const at::Tensor& background, const at::Tensor& image, const at::Tensor& mask,
                        at::Tensor& out) {
  require_channels(background, mask, "mask");
  require(background.sizes() == image.sizes(), ACLNN_ERR_PARAM_INVALID, "bkg and src have the shapes ",
          background.sizes(), " and ", image.sizes(), "; they must be equal");
  const at::Tensor part = to_float(mask);
  store_pixels(to_float(background).mul(at::rsub(part, 1)).addcmul_(to_float(image), part), out);
}

at::Tensor opacity(const at::Tensor& alpha) { return to_float(alpha).div_(255); }

void blend(const at::Tensor& image, const at::Tensor& alpha, const at::Tensor& frame, at::Tensor& out) {
  require_channels(image, alpha, "alpha");
  require(frame.sizes() == image.sizes(), ACLNN_ERR_PARAM_INVALID, "rgb and frame have the shapes ", image.sizes(),
          " and ", frame.sizes(), "; they must be equal");
  const at::Tensor part = opacity(alpha);
  store_pixels(to_float(frame).mul(at::rsub(part, 1)).addcmul_(to_float(image), part), out);
}

void multiply_by_opacity(const at::Tensor& image, const at::Tensor& alpha, at::Tensor& out) {
  require_channels(image, alpha, "alpha");
  assign(out, to_float(image).mul(opacity(alpha)).floor_());
}

// ---- triangles

// On the screen: each [faces].
struct Corner {
  at::Tensor x, y, z;
};

Corner corner_of(const at::Tensor& vertices, const at::Tensor& faces, int64_t which, int64_t width, int64_t height) {
  const at::Tensor v = vertices.index_select(0, faces.select(1, which));
  const at::Tensor w = v.select(1, 3);
  return {(v.select(1, 0) / w).mul_(0.5).add_(0.5).mul_(static_cast<double>(width - 1)).add_(0.5),
          (v.select(1, 1) / w).mul_(0.5).add_(0.5).mul_(static_cast<double>(height - 1)).add_(0.5),
          (v.select(1, 2) / w).mul_(0.49999).add_(0.5)};
}

at::Tensor signed_area(const Corner& a, const Corner& b, const Corner& c) {
  return (c.x - a.x) * (b.y - a.y) - (b.x - a.x) * (c.y - a.y);
}

Corner one_of(const Corner& corner, int64_t face) {
  return {corner.x.select(0, face), corner.y.select(0, face), corner.z.select(0, face)};
}

// The shares of the corners at a point, [..., 3]; -1 for a triangle without an area.
at::Tensor shares_at(const Corner& point, const Corner& a, const Corner& b, const Corner& c) {
  const at::Tensor area = signed_area(a, b, c);
  const at::Tensor beta = signed_area(a, point, c) / area, gamma = signed_area(a, b, point) / area;
  const at::Tensor shares = at::stack({at::rsub(beta + gamma, 1), beta, gamma}, -1);
  return at::where((area == 0).unsqueeze(-1), at::full_like(shares, -1), shares);
}

// The face whose depth is the smallest at each pixel, counted from 1 (0: none), the first of equal ones; and the shares
// of its corners there, in the perspective.
void rasterize(const at::Tensor& vertices, const at::Tensor& faces, int64_t width, int64_t height, at::Tensor& index,
               at::Tensor& out) {
  require(vertices.dim() == 2 && vertices.size(1) == 4 && faces.dim() == 2 && faces.size(1) == 3,
          ACLNN_ERR_PARAM_INVALID, "v and f have the shapes ", vertices.sizes(), " and ", faces.sizes(),
          "; they must be [vertices, 4] and [faces, 3]");
  require(width >= 1 && width <= 4096 && height >= 1 && height <= 4096, ACLNN_ERR_PARAM_INVALID,
          "width and height are ", width, " and ", height, "; allowed: 1 to 4096");
  const Corner a = corner_of(vertices, faces, 0, width, height), b = corner_of(vertices, faces, 1, width, height),
               c = corner_of(vertices, faces, 2, width, height);
  const at::Tensor ys = at::arange(height, at::kFloat).add_(0.5).unsqueeze(1).expand({height, width});
  const at::Tensor xs = at::arange(width, at::kFloat).add_(0.5).unsqueeze(0).expand({height, width});
  const Corner points{xs, ys, {}};
  const at::Tensor depth = at::full({height, width}, kInfinity, at::kFloat);
  const at::Tensor nearest = at::zeros({height, width}, at::kLong);
  for (int64_t face = 0; face < faces.size(0); ++face) {
    const Corner p = one_of(a, face), q = one_of(b, face), r = one_of(c, face);
    const at::Tensor shares = shares_at(points, p, q, r);
    const at::Tensor at_face = shares.matmul(at::stack({p.z, q.z, r.z}));
    const at::Tensor closer = (shares >= 0).all(-1).logical_and_(at_face < depth);
    depth.copy_(at::where(closer, at_face, depth));
    nearest.masked_fill_(closer, face + 1);
  }
  const at::Tensor pixels = (nearest > 0).nonzero();  // [hit, 2]
  const at::Tensor hit = nearest.index({pixels.select(1, 0), pixels.select(1, 1)}).sub_(1);
  const auto chosen = [&](const Corner& corner) {
    return Corner{corner.x.index_select(0, hit), corner.y.index_select(0, hit), {}};
  };
  const Corner centres{pixels.select(1, 1).to(at::kFloat).add_(0.5), pixels.select(1, 0).to(at::kFloat).add_(0.5), {}};
  const at::Tensor w = vertices.select(1, 3).index({faces.index_select(0, hit)});  // [hit, 3]
  const at::Tensor scaled = shares_at(centres, chosen(a), chosen(b), chosen(c)) / w;
  at::Tensor result = at::zeros({height, width, 3}, at::kFloat);
  result.index_put_({pixels.select(1, 0), pixels.select(1, 1)}, scaled / scaled.sum(-1, /*keepdim=*/true));
  assign(index, nearest);
  assign(out, result);
}

}  // namespace

ACLNN(BackgroundReplace, (In, bkg)(In, src)(In, mask)(Out, out), replace_background(bkg, src, mask, out))
ACLNN(BlendImagesCustom, (In, rgb)(In, alpha)(In, frame)(Out, out), blend(rgb, alpha, frame, out))
ACLNN(MrgbaCustom, (In, rgb)(In, alpha)(Out, out), multiply_by_opacity(rgb, alpha, out))
ACLNN(Rasterizer,
      (In, v)(Index, f)(OptIn, dOptional)(Int, width)(Int, height)(Double, occlusionTruncation)(Int, useDepthPrior)(
          Out, findicesOut)(Out, barycentricOut),
      require(useDepthPrior == 0, ACLNN_ERR_PARAM_INVALID, "useDepthPrior is ", useDepthPrior, "; allowed: 0");
      rasterize(v, f, width, height, findicesOut, barycentricOut))
