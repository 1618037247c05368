// native/opapi/ops/kv_cache/rotary.cpp
// Rotary position embeddings: y = x * cos + rotate(x) * sin. Half precision is computed in float32 and rounded once.
#include "opapi/ops/common/precision.h"

namespace {

enum Mode : int64_t { kHalf = 0, kInterleave = 1, kQuarter = 2, kInterleaveHalf = 3 };

struct Pairs {
  at::Tensor first, second;
};

// The elements of the last dimension that are rotated together, as two views of half its size.
Pairs pairs(const at::Tensor& x, Mode mode) {
  const int64_t size = x.size(-1);
  const int64_t unit = mode == kQuarter ? 4 : 2;
  require(size % unit == 0, ACLNN_ERR_PARAM_INVALID, "the last dimension has ", size,
          " elements; in this mode it must be divisible by ", unit);
  switch (mode) {
    case kHalf:
      return {x.narrow(-1, 0, size / 2), x.narrow(-1, size / 2, size / 2)};
    case kInterleave:
      return {x.slice(-1, 0, size, 2), x.slice(-1, 1, size, 2)};
    case kQuarter: {
      const at::Tensor halves = x.unflatten(-1, {2, 2, size / 4});
      return {halves.select(-2, 0), halves.select(-2, 1)};
    }
    default:
      fail(ACLNN_ERR_PARAM_INVALID, "mode is ", static_cast<int64_t>(mode),
           "; allowed: 0 (half), 1 (interleave), 2 (quarter), 3 (interleave-half)");
  }
}

// Mode 3 takes neighbours from x and puts them into the halves of y.
struct Layout {
  Mode x, y;
};

Layout layout_of(int64_t mode) {
  if (mode == kInterleaveHalf) return {kInterleave, kHalf};
  return {static_cast<Mode>(mode), static_cast<Mode>(mode)};
}

// Each pair turns by 90 degrees: (a, b) -> (-b, a).
void embed(at::Tensor& out, const at::Tensor& tensor, const at::Tensor& cos, const at::Tensor& sin, int64_t mode) {
  const Layout layout = layout_of(mode);
  const at::Tensor x = widened(tensor);
  const auto [a, b] = pairs(x, layout.x);
  const auto [cos_a, cos_b] = pairs(widened(cos), layout.y);
  const auto [sin_a, sin_b] = pairs(widened(sin), layout.y);
  at::Tensor y = at::empty(x.sizes(), x.options());
  auto [y_a, y_b] = pairs(y, layout.y);
  at::mul_out(y_a, a, cos_a).addcmul_(b, sin_a, -1);
  at::mul_out(y_b, b, cos_b).addcmul_(a, sin_b);
  assign(out, y);
}

void embed_with_matrix(at::Tensor& out, const at::Tensor& tensor, const at::Tensor& cos, const at::Tensor& sin,
                       const at::Tensor& matrix) {
  const at::Tensor x = widened(tensor);
  assign(out, (x * widened(cos)).addcmul_(x.matmul(widened(matrix)), widened(sin)));
}

void embed_backward(at::Tensor& grad_x, at::Tensor& grad_cos, at::Tensor& grad_sin, const at::Tensor& grad,
                    const at::Tensor& cos, const at::Tensor& sin, const std::optional<at::Tensor>& tensor,
                    int64_t mode) {
  const Layout layout = layout_of(mode);
  const at::Tensor g = widened(grad);
  const auto [g_a, g_b] = pairs(g, layout.y);
  const auto [cos_a, cos_b] = pairs(widened(cos), layout.y);
  const auto [sin_a, sin_b] = pairs(widened(sin), layout.y);
  at::Tensor result = at::empty(g.sizes(), g.options());
  auto [x_a, x_b] = pairs(result, layout.x);
  at::mul_out(x_a, g_a, cos_a).addcmul_(g_b, sin_b);
  at::mul_out(x_b, g_b, cos_b).addcmul_(g_a, sin_a, -1);
  assign(grad_x, result);
  if (!tensor) return;  // the caller does not use the other two
  const auto [a, b] = pairs(widened(*tensor), layout.x);
  auto [r_a, r_b] = pairs(result, layout.y);
  at::mul_out(r_a, g_a, a);
  at::mul_out(r_b, g_b, b);
  assign(grad_cos, result.sum_to_size(cos.sizes()));
  at::mul_out(r_a, g_a, b).neg_();
  at::mul_out(r_b, g_b, a);
  assign(grad_sin, result.sum_to_size(sin.sizes()));
}

int64_t mode_named(const std::string& name) {
  if (name == "half") return kHalf;
  if (name == "interleave") return kInterleave;
  if (name == "quarter") return kQuarter;
  fail(ACLNN_ERR_PARAM_INVALID, "rotaryMode is '", name, "'; allowed: half, interleave, quarter");
}

// Query and key in place. The layout names the dimensions; cos and sin have size 1 where the heads are.
void apply(at::Tensor& query, at::Tensor& key, const at::Tensor& cos, const at::Tensor& sin, int64_t layout,
           int64_t mode) {
  require(layout >= 1 && layout <= 4, ACLNN_ERR_PARAM_INVALID, "layout is ", layout,
          "; allowed: 1 (BSND), 2 (SBND), 3 (BNSD), 4 (TND)");
  embed(query, query, cos, sin, mode);
  embed(key, key, cos, sin, mode);
}

// The elements [begin, end) of the last dimension, in place; all of them if there is no slice.
void embed_part(at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t mode,
                at::OptionalIntArrayRef slice) {
  require(mode == kInterleave, ACLNN_ERR_PARAM_INVALID, "rotary_mode is ", mode, "; allowed: 1 (interleave)");
  if (!slice || slice->empty()) return embed(x, x, cos, sin, mode);
  require(slice->size() == 2 && slice->front() >= 0 && slice->front() <= slice->back() && slice->back() <= x.size(-1),
          ACLNN_ERR_PARAM_INVALID, "partialSlice is ", *slice, "; it must be a beginning and an end within the ",
          x.size(-1), " elements of the last dimension");
  if (slice->front() == slice->back()) return;
  at::Tensor part = x.narrow(-1, slice->front(), slice->back() - slice->front());
  embed(part, part, cos, sin, mode);
}

}  // namespace

ACLNN(RotaryPositionEmbedding, (In, x)(In, cos)(In, sin)(Int, mode)(Out, out), embed(out, x, cos, sin, mode))
// A matrix takes the place of the mode.
ACLNN(RotaryPositionEmbeddingV2, (In, x)(In, cos)(In, sin)(Int, mode)(OptIn, rotate)(Out, out),
      rotate ? embed_with_matrix(out, x, cos, sin, *rotate) : embed(out, x, cos, sin, mode))
ACLNN(InterleaveRope, (In, x)(In, cos)(In, sin)(Out, out), embed(out, x, cos, sin, kInterleaveHalf))
ACLNN(InplacePartialRotaryMul, (Ref, xRef)(In, cos)(In, sin)(Int, rotary_mode)(OptInts, partialSlice),
      embed_part(xRef, cos, sin, rotary_mode, partialSlice))
ACLNN(RotaryPositionEmbeddingGrad,
      (In, dy)(In, cos)(In, sin)(OptIn, xOptional)(Int, mode)(Out, dxOut)(OptOut, dcosOut)(OptOut, dsinOut),
      embed_backward(dxOut, dcosOut, dsinOut, dy, cos, sin, xOptional, mode))
ACLNN(ApplyRotaryPosEmb, (Ref, queryRef)(Ref, keyRef)(In, cos)(In, sin)(Int, layout),
      apply(queryRef, keyRef, cos, sin, layout, kHalf))
ACLNN(ApplyRotaryPosEmbV2, (Ref, queryRef)(Ref, keyRef)(In, cos)(In, sin)(Int, layout)(Text, rotaryMode),
      apply(queryRef, keyRef, cos, sin, layout, mode_named(rotaryMode)))
