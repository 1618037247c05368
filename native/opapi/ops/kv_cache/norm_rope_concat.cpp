// native/opapi/ops/kv_cache/norm_rope_concat.cpp
// Queries, keys and values of images and of texts: each normalised, one behind the other along the sequence, by head,
// and turned by rotary embeddings. [B, S, N, D] becomes [B, N, S of both, D]. Computed in float32.
#include "opapi/ops/common/precision.h"

namespace {

enum NormType : int64_t { kNoNorm = 0, kLayer = 1, kLayerAffine = 2, kRms = 3, kRmsAffine = 4 };
enum RopeType : int64_t { kNoRope = 0, kNeighbours = 1, kHalves = 2 };

struct NormRopeOptions {
  int64_t norm, added_norm, rope, order;
};

void check_norm_rope(const NormRopeOptions& options) {
  for (const int64_t norm : {options.norm, options.added_norm}) {
    require(norm >= kNoNorm && norm <= kRmsAffine, ACLNN_ERR_PARAM_INVALID, "normType or normAddedType is ", norm,
            "; allowed: 0 to 4");
  }
  require(options.rope >= kNoRope && options.rope <= kHalves, ACLNN_ERR_PARAM_INVALID, "ropeType is ", options.rope,
          "; allowed: 0 (none), 1 (interleave), 2 (half)");
  require(options.order == 0 || options.order == 1, ACLNN_ERR_PARAM_INVALID, "concatOrder is ", options.order,
          "; allowed: 0, 1");
}

bool is_layer(int64_t norm) { return norm == kLayer || norm == kLayerAffine; }
bool is_affine(int64_t norm) { return norm == kLayerAffine || norm == kRmsAffine; }

// The input of a stream, with the factors of its norm.
struct NormedStream {
  const OptionalTensor &x, &weight, &bias;
};

struct NormStatistics {
  at::Tensor &mean, &rstd;
};

at::Tensor wide_weight(const OptionalTensor& weight) {
  require(weight.has_value(), ACLNN_ERR_PARAM_NULLPTR, "the weight of a norm with factors is null");
  return weight->to(at::kFloat);
}

at::Tensor normalise(const NormedStream& stream, int64_t norm, double eps, bool keeps,
                     const NormStatistics& statistics) {
  const at::Tensor x = stream.x->to(at::kFloat);
  if (norm == kNoNorm) return x;
  const at::Tensor mean = is_layer(norm) ? x.mean(-1, /*keepdim=*/true) : at::Tensor();
  const at::Tensor centred = mean.defined() ? x - mean : x;
  const at::Tensor rstd = centred.square().mean(-1, /*keepdim=*/true).add_(eps).rsqrt_();
  if (keeps && mean.defined() && statistics.mean.defined()) assign(statistics.mean, mean);
  if (keeps && statistics.rstd.defined()) assign(statistics.rstd, rstd);
  at::Tensor result = centred * rstd;
  if (is_affine(norm)) result.mul_(wide_weight(stream.weight));
  if (norm == kLayerAffine && stream.bias) result.add_(*stream.bias);
  return result;
}

// Each pair turns by 90 degrees: (a, b) -> (-b, a).
at::Tensor quarter_turn(const at::Tensor& x, int64_t rope) {
  const int64_t size = x.size(-1);
  if (rope == kHalves) return at::cat({x.narrow(-1, size / 2, size / 2).neg(), x.narrow(-1, 0, size / 2)}, -1);
  return at::stack({x.slice(-1, 1, size, 2).neg(), x.slice(-1, 0, size, 2)}, -1).flatten(-2);
}

struct RopeAngles {
  const OptionalTensor &sin, &cos;
};

// The first rows along the sequence, as many as there are angles; `direction` is -1 for gradients.
at::Tensor rotate_rows(const at::Tensor& x, const RopeAngles& angles, int64_t rope, double direction) {
  if (rope == kNoRope) return x;
  require(angles.sin && angles.cos && angles.sin->dim() == 2 && angles.sin->sizes() == angles.cos->sizes() &&
              angles.sin->size(1) == x.size(-1) && angles.sin->size(0) <= x.size(2) && x.size(-1) % 2 == 0,
          ACLNN_ERR_PARAM_INVALID, "ropeSin and ropeCos do not fit; they must be [S, ", x.size(-1), "] with S up to ",
          x.size(2));
  const int64_t rows = angles.sin->size(0);
  at::Tensor result = x.clone();
  const at::Tensor part = x.narrow(2, 0, rows), sin = angles.sin->to(at::kFloat), cos = angles.cos->to(at::kFloat);
  // The transpose of a quarter turn is the turn back, behind the sine.
  const at::Tensor crosswise = direction > 0 ? quarter_turn(part, rope) * sin : quarter_turn(part * sin, rope).neg();
  result.narrow(2, 0, rows).copy_(part * cos + crosswise);
  return result;
}

void check_joined(const at::Tensor& x, const OptionalTensor& added, const char* name) {
  require(x.dim() == 4, ACLNN_ERR_PARAM_INVALID, name, " has ", x.dim(), " dimensions; allowed: 4 (BSND)");
  require(!added || (added->dim() == 4 && added->size(0) == x.size(0) && added->size(2) == x.size(2) &&
                     added->size(3) == x.size(3)),
          ACLNN_ERR_PARAM_INVALID, name, " and what is added to it have the shapes ", x.sizes(), " and ",
          added ? added->sizes() : at::IntArrayRef(), "; they may differ in the length of the sequence alone");
}

at::Tensor join_rows(const at::Tensor& x, const at::Tensor& added, int64_t order) {
  const at::Tensor both = !added.defined() ? x : order == 0 ? at::cat({x, added}, 1) : at::cat({added, x}, 1);
  return both.transpose(1, 2);
}

struct NormRopeForward {
  NormedStream stream, added;
  NormStatistics statistics, added_statistics;
};

void norm_rope(const NormRopeForward& operands, const NormRopeOptions& options, const RopeAngles& angles, double eps,
               bool keeps, const char* name, at::Tensor& out) {
  check_joined(*operands.stream.x, operands.added.x, name);
  const at::Tensor x = normalise(operands.stream, options.norm, eps, keeps, operands.statistics);
  at::Tensor added;
  if (operands.added.x) added = normalise(operands.added, options.added_norm, eps, keeps, operands.added_statistics);
  assign(out, rotate_rows(join_rows(x, added, options.order), angles, options.rope, 1));
}

void join_values(const at::Tensor& value, const OptionalTensor& added, int64_t order, at::Tensor& out) {
  check_joined(value, added, "value");
  assign(out, join_rows(value, or_undefined(added), order));
}

// ---- gradients

struct NormSaved {
  const OptionalTensor &x, &weight, &mean, &rstd;
};

struct NormGradients {
  at::Tensor &x, &weight, &bias;
};

void normalise_backward(const at::Tensor& grad, const NormSaved& saved, int64_t norm, const NormGradients& gradients) {
  if (norm == kNoNorm) return assign(gradients.x, grad);
  require(saved.x && saved.rstd && (saved.mean || !is_layer(norm)), ACLNN_ERR_PARAM_NULLPTR,
          "the input of a norm or its statistics are null");
  const at::Tensor rstd = saved.rstd->to(at::kFloat).reshape({grad.size(0), grad.size(1), grad.size(2), 1});
  at::Tensor x = saved.x->to(at::kFloat);
  if (is_layer(norm)) x = x - saved.mean->to(at::kFloat).reshape(rstd.sizes());
  x = x * rstd;
  const at::Tensor by_norm = is_affine(norm) ? grad * wide_weight(saved.weight) : grad;
  at::Tensor result = by_norm - x * (by_norm * x).mean(-1, /*keepdim=*/true);
  if (is_layer(norm)) result.sub_(by_norm.mean(-1, /*keepdim=*/true));
  assign(gradients.x, result.mul_(rstd));
  if (is_affine(norm) && gradients.weight.defined()) assign(gradients.weight, (grad * x).sum({0, 1, 2}));
  if (norm == kLayerAffine && gradients.bias.defined()) assign(gradients.bias, grad.sum({0, 1, 2}));
}

struct JoinedParts {
  at::Tensor x, added;
};

// Of a gradient [B, N, S, D], the parts [B, S, N, D].
JoinedParts split_joined(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& added, int64_t order) {
  const int64_t rows = x.size(1), more = added.defined() ? added.size(1) : 0;
  require(grad.dim() == 4 && grad.size(2) == rows + more && grad.size(1) == x.size(2) && grad.size(0) == x.size(0),
          ACLNN_ERR_PARAM_INVALID, "a gradient has the shape ", grad.sizes(), "; it must be that of ", rows, " and ",
          more, " rows of the sequence, by head");
  const at::Tensor by_row = grad.transpose(1, 2);
  const int64_t first = order == 0 ? 0 : more, other = order == 0 ? rows : 0;
  return {by_row.narrow(1, first, rows), more > 0 ? by_row.narrow(1, other, more) : at::Tensor()};
}

struct NormRopeBackward {
  NormSaved saved, added;
  NormGradients gradients, added_gradients;
};

void norm_rope_backward(const at::Tensor& grad, const NormRopeBackward& operands, const NormRopeOptions& options,
                        const RopeAngles& angles) {
  const at::Tensor turned_back = rotate_rows(grad.to(at::kFloat), angles, options.rope, -1);
  const JoinedParts parts = split_joined(turned_back, operands.gradients.x, operands.added_gradients.x, options.order);
  normalise_backward(parts.x, operands.saved, options.norm, operands.gradients);
  if (parts.added.defined()) {
    normalise_backward(parts.added, operands.added, options.added_norm, operands.added_gradients);
  }
}

void split_values(const at::Tensor& grad, int64_t order, at::Tensor& value, at::Tensor& added) {
  const JoinedParts parts = split_joined(grad, value, added, order);
  assign(value, parts.x);
  if (parts.added.defined()) assign(added, parts.added);
}

}  // namespace

ACLNN(NormRopeConcat,
      (In, query)(In, key)(In, value)(OptIn, encoderQuery)(OptIn, encoderKey)(OptIn, encoderValue)(
          OptIn, normQueryWeight)(OptIn, normQueryBias)(OptIn, normKeyWeight)(OptIn, normKeyBias)(
          OptIn, normAddedQueryWeight)(OptIn, normAddedQueryBias)(OptIn, normAddedKeyWeight)(OptIn, normAddedKeyBias)(
          OptIn, ropeSin)(OptIn, ropeCos)(Int, normType)(Int, normAddedType)(Int, ropeType)(Int, concatOrder)(
          Double, eps)(Bool, isTraining)(Out, queryOutput)(Out, keyOutput)(Out, valueOutput)(OptOut, normQueryMean)(
          OptOut, normQueryRstd)(OptOut, normKeyMean)(OptOut, normKeyRstd)(OptOut, normAddedQueryMean)(
          OptOut, normAddedQueryRstd)(OptOut, normAddedKeyMean)(OptOut, normAddedKeyRstd),
      const NormRopeOptions options{normType, normAddedType, ropeType, concatOrder};
      const RopeAngles angles{ropeSin, ropeCos}; const OptionalTensor queries(query), keys(key);
      check_norm_rope(options); norm_rope({{queries, normQueryWeight, normQueryBias},
                                           {encoderQuery, normAddedQueryWeight, normAddedQueryBias},
                                           {normQueryMean, normQueryRstd},
                                           {normAddedQueryMean, normAddedQueryRstd}},
                                          options, angles, eps, isTraining, "query", queryOutput);
      norm_rope({{keys, normKeyWeight, normKeyBias},
                 {encoderKey, normAddedKeyWeight, normAddedKeyBias},
                 {normKeyMean, normKeyRstd},
                 {normAddedKeyMean, normAddedKeyRstd}},
                options, angles, eps, isTraining, "key", keyOutput);
      join_values(value, encoderValue, concatOrder, valueOutput))
ACLNN(NormRopeConcatBackward,
      (In, gradQueryOutput)(In, gradKeyOutput)(In, gradValueOutput)(OptIn, query)(OptIn, key)(OptIn, encoderQuery)(
          OptIn, encoderKey)(OptIn, normQueryWeight)(OptIn, normQueryMean)(OptIn, normQueryRstd)(OptIn, normKeyWeight)(
          OptIn, normKeyMean)(OptIn, normKeyRstd)(OptIn, normAddedQueryWeight)(OptIn, normAddedQueryMean)(
          OptIn, normAddedQueryRstd)(OptIn, normAddedKeyWeight)(OptIn, normAddedKeyMean)(OptIn, normAddedKeyRstd)(
          OptIn, ropeSin)(OptIn, ropeCos)(Int, normType)(Int, normAddedType)(Int, ropeType)(Int, concatOrder)(
          Out, gradQuery)(Out, gradKey)(Out, gradValue)(OptOut, gradEncoderQuery)(OptOut, gradEncoderKey)(
          OptOut, gradEncoderValue)(OptOut, gradNormQueryWeight)(OptOut, gradNormQueryBias)(OptOut, gradNormKeyWeight)(
          OptOut, gradNormKeyBias)(OptOut, gradNormAddedQueryWeight)(OptOut, gradNormAddedQueryBias)(
          OptOut, gradNormAddedKeyWeight)(OptOut, gradNormAddedKeyBias),
      const NormRopeOptions options{normType, normAddedType, ropeType, concatOrder};
      const RopeAngles angles{ropeSin, ropeCos}; check_norm_rope(options);
      norm_rope_backward(gradQueryOutput,
                         {{query, normQueryWeight, normQueryMean, normQueryRstd},
                          {encoderQuery, normAddedQueryWeight, normAddedQueryMean, normAddedQueryRstd},
                          {gradQuery, gradNormQueryWeight, gradNormQueryBias},
                          {gradEncoderQuery, gradNormAddedQueryWeight, gradNormAddedQueryBias}},
                         options, angles);
      norm_rope_backward(gradKeyOutput,
                         {{key, normKeyWeight, normKeyMean, normKeyRstd},
                          {encoderKey, normAddedKeyWeight, normAddedKeyMean, normAddedKeyRstd},
                          {gradKey, gradNormKeyWeight, gradNormKeyBias},
                          {gradEncoderKey, gradNormAddedKeyWeight, gradNormAddedKeyBias}},
                         options, angles);
      split_values(gradValueOutput, concatOrder, gradValue, gradEncoderValue))
