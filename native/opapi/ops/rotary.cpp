// Rotary position embeddings: y = x * cos + rotate(x) * sin. Half precision is computed in float32 and rounded once.
#include "opapi/opapi.h"

namespace {

enum Mode : int64_t { kHalf = 0, kInterleave = 1, kQuarter = 2, kInterleaveHalf = 3 };

at::Tensor widened(const at::Tensor& tensor) {
  return kind::is_half(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor;
}

// (a, b) -> (-b, a) for pairs along the last dimension. A rotation by 90 degrees: its transpose is its negative.
at::Tensor rotate(const at::Tensor& x, int64_t mode) {
  const int64_t size = x.size(-1);
  const int64_t unit = mode == kQuarter ? 4 : 2;
  require(size % unit == 0, ACLNN_ERR_PARAM_INVALID, "the last dimension has ", size,
          " elements; in this mode it must be divisible by ", unit);
  switch (mode) {
    case kHalf:
    case kInterleaveHalf: {
      const auto parts = x.chunk(2, -1);
      return at::cat({-parts[1], parts[0]}, -1);
    }
    case kInterleave: {
      const at::Tensor pairs = x.unflatten(-1, {size / 2, 2});
      return at::stack({-pairs.select(-1, 1), pairs.select(-1, 0)}, -1).flatten(-2);
    }
    case kQuarter: {
      const auto parts = x.chunk(4, -1);
      return at::cat({-parts[1], parts[0], -parts[3], parts[2]}, -1);
    }
    default:
      fail(ACLNN_ERR_PARAM_INVALID, "mode is ", mode,
           "; allowed: 0 (half), 1 (interleave), 2 (quarter), 3 (interleave-half)");
  }
}

// Mode 3 moves the even positions to the front before it rotates.
at::Tensor arranged(const at::Tensor& x, int64_t mode) {
  return mode == kInterleaveHalf ? x.unflatten(-1, {x.size(-1) / 2, 2}).transpose(-1, -2).flatten(-2) : x;
}

at::Tensor arranged_back(const at::Tensor& x, int64_t mode) {
  return mode == kInterleaveHalf ? x.unflatten(-1, {2, x.size(-1) / 2}).transpose(-1, -2).flatten(-2) : x;
}

at::Tensor embed(const at::Tensor& tensor, const at::Tensor& cos, const at::Tensor& sin, int64_t mode) {
  const at::Tensor x = arranged(widened(tensor), mode);
  return (x * widened(cos)).addcmul_(rotate(x, mode), widened(sin));
}

// `matrix` takes the place of the mode.
void embed_into(at::Tensor& out, const at::Tensor& tensor, const at::Tensor& cos, const at::Tensor& sin, int64_t mode,
                const std::optional<at::Tensor>& matrix) {
  if (!matrix) {
    assign(out, embed(tensor, cos, sin, mode));
    return;
  }
  const at::Tensor x = widened(tensor);
  assign(out, x * widened(cos) + x.matmul(widened(*matrix)) * widened(sin));
}

void embed_backward(at::Tensor& grad_x, at::Tensor& grad_cos, at::Tensor& grad_sin, const at::Tensor& grad,
                    const at::Tensor& cos, const at::Tensor& sin, const std::optional<at::Tensor>& tensor,
                    int64_t mode) {
  const at::Tensor g = widened(grad);
  assign(grad_x, arranged_back(g * widened(cos) - rotate(g * widened(sin), mode), mode));
  if (!tensor) return;  // the caller does not use the other two
  const at::Tensor x = arranged(widened(*tensor), mode);
  assign(grad_cos, (g * x).sum_to_size(cos.sizes()));
  assign(grad_sin, (g * rotate(x, mode)).sum_to_size(sin.sizes()));
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
  assign(query, embed(query, cos, sin, mode));
  assign(key, embed(key, cos, sin, mode));
}

}  // namespace

ACLNN(RotaryPositionEmbedding, (In, x)(In, cos)(In, sin)(Int, mode)(Out, out),
      embed_into(out, x, cos, sin, mode, std::nullopt))
ACLNN(RotaryPositionEmbeddingV2, (In, x)(In, cos)(In, sin)(Int, mode)(OptIn, rotate)(Out, out),
      embed_into(out, x, cos, sin, mode, rotate))
ACLNN(RotaryPositionEmbeddingGrad,
      (In, dy)(In, cos)(In, sin)(OptIn, xOptional)(Int, mode)(Out, dxOut)(OptOut, dcosOut)(OptOut, dsinOut),
      embed_backward(dxOut, dcosOut, dsinOut, dy, cos, sin, xOptional, mode))
ACLNN(ApplyRotaryPosEmb, (Ref, queryRef)(Ref, keyRef)(In, cos)(In, sin)(Int, layout),
      apply(queryRef, keyRef, cos, sin, layout, kHalf))
ACLNN(ApplyRotaryPosEmbV2, (Ref, queryRef)(Ref, keyRef)(In, cos)(In, sin)(Int, layout)(Text, rotaryMode),
      apply(queryRef, keyRef, cos, sin, layout, mode_named(rotaryMode)))
