// native/opapi/ops/attention.cpp
// Scaled dot-product attention with its gradient, for queries of equal length (layouts BNSD, BSND, BSH, SBH), and the
// split of a joint projection into query, key and value:
//   attention = dropout(softmax(mask(scale * (query key^T + pse)))) value
// A reference: the scores exist as one tensor. Half inputs are computed in float32.
#include <ATen/ExpandUtils.h>

#include <limits>

#include "opapi/opapi.h"

namespace {

using OptionalTensor = std::optional<at::Tensor>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Options {
  at::OptionalIntArrayRef prefix;
  double scale;
  double keep_prob;
  int64_t pre_tokens;
  int64_t next_tokens;
  int64_t heads;
  const std::string& layout;
  int64_t sparse_mode;
  int64_t pse_type = 1;
};

struct Operands {
  const at::Tensor &query, &key, &value;
  const OptionalTensor &pse, &drop_mask, &mask, &sink;
};

at::Tensor computed(const at::Tensor& tensor) {
  const at::ScalarType dtype = tensor.scalar_type();
  return dtype == at::kHalf || dtype == at::kBFloat16 ? tensor.to(at::kFloat) : tensor;
}

// ---- layouts: B batch, S sequence, N heads, D head dimension, H = N * D

at::Tensor split_heads(const at::Tensor& tensor, const std::string& layout, int64_t heads) {
  if (layout == "BNSD") return tensor;
  if (layout == "BSND") return tensor.transpose(1, 2);
  require(layout == "BSH" || layout == "SBH", ACLNN_ERR_PARAM_INVALID, "parameter 'inputLayout' is '", layout,
          "'; it must be BNSD, BSND, BSH or SBH");
  const at::Tensor split = tensor.unflatten(2, {heads, -1});
  return layout == "BSH" ? split.transpose(1, 2) : split.permute({1, 2, 0, 3});
}

void assign_heads(at::Tensor& out, const at::Tensor& bnsd, const std::string& layout) {
  if (layout == "BNSD") return assign(out, bnsd);
  const at::Tensor rows = layout == "SBH" ? bnsd.permute({2, 0, 1, 3}) : bnsd.transpose(1, 2);
  assign(out, rows.reshape(out.sizes()));
}

// ---- masks

// The keys that a query may not see, by position: key - query beyond `next`, or before `pre`.
at::Tensor outside_band(int64_t queries, int64_t keys, int64_t pre, int64_t next) {
  const at::Tensor distance = at::arange(keys).sub(at::arange(queries).unsqueeze(1));
  at::Tensor outside = distance.gt(next);
  if (pre < queries) outside.logical_or_(distance.lt(-pre));
  return outside;
}

// True where a score does not count; undefined if every score counts. The compressed modes (2, 3, 4, 6) describe the
// mask by position, so the contents of their 2048 x 2048 mask are not needed.
at::Tensor excluded(const OptionalTensor& mask, const Options& options, int64_t queries, int64_t keys) {
  constexpr int64_t kEverything = std::numeric_limits<int32_t>::max();
  const int64_t shift = keys - queries;  // aligns the lower right corners
  switch (options.sparse_mode) {
    case 0: {
      if (!mask) return {};
      const at::Tensor given = mask->to(at::kBool);
      if (options.pre_tokens >= queries && options.next_tokens >= keys) return given;
      return given.logical_or(outside_band(queries, keys, options.pre_tokens, options.next_tokens));
    }
    case 1:
    case 5:
      return mask ? mask->to(at::kBool) : at::Tensor();
    case 2:
      return outside_band(queries, keys, kEverything, 0);
    case 3:
      return outside_band(queries, keys, kEverything, shift);
    case 4:
      return outside_band(queries, keys, options.pre_tokens - shift, options.next_tokens + shift);
    case 6: {
      require(options.prefix.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'prefix' is needed in sparse mode 6");
      const at::Tensor prefix = at::tensor(*options.prefix).view({-1, 1, 1, 1});
      return outside_band(queries, keys, kEverything, shift).logical_and(at::arange(keys).ge(prefix));
    }
    default:
      fail(ACLNN_ERR_PARAM_INVALID, "parameter 'sparseMode' is ", options.sparse_mode, "; it must be 0 to 6");
  }
}

// What dropout multiplies each probability with: 1 / keep or 0, from one bit per score, lowest bit first.
at::Tensor dropout_factors(const at::Tensor& bits, at::IntArrayRef scores, double keep_prob) {
  const at::Tensor places = at::arange(8, at::kByte);
  const at::Tensor spread = bits.reshape({-1, 1}).bitwise_right_shift(places).bitwise_and_(1).view(-1);
  return spread.slice(0, 0, c10::multiply_integers(scores)).view(scores).to(at::kFloat).div_(keep_prob);
}

// ---- computation on [B, N, S, D]

struct Heads {
  at::Tensor query, key, value;
  int64_t groups;  // query heads per key head
};

Heads split(const Operands& operands, const Options& options) {
  Heads heads;
  heads.query = computed(split_heads(operands.query, options.layout, options.heads));
  int64_t key_heads = 1;  // read from the tensor unless the layout joins heads
  if (options.layout == "BSH" || options.layout == "SBH") key_heads = operands.key.size(2) / heads.query.size(3);
  heads.key = computed(split_heads(operands.key, options.layout, key_heads));
  heads.value = computed(split_heads(operands.value, options.layout, key_heads));
  require(heads.key.size(1) > 0 && heads.query.size(1) % heads.key.size(1) == 0, ACLNN_ERR_PARAM_INVALID,
          "the query's ", heads.query.size(1), " heads are not a multiple of the key's ", heads.key.size(1));
  heads.groups = heads.query.size(1) / heads.key.size(1);
  if (heads.groups > 1) {
    heads.key = heads.key.repeat_interleave(heads.groups, 1);
    heads.value = heads.value.repeat_interleave(heads.groups, 1);
  }
  return heads;
}

at::Tensor join_groups(const at::Tensor& grad, int64_t groups) {
  return groups == 1 ? grad : grad.unflatten(1, {-1, groups}).sum(2);
}

at::Tensor masked_scores(const Heads& heads, const Operands& operands, const Options& options) {
  at::Tensor scores = at::matmul(heads.query, heads.key.transpose(2, 3));
  require(!operands.pse || options.pse_type == 0 || options.pse_type == 1, ACLNN_ERR_PARAM_INVALID,
          "parameter 'pseType' is ", options.pse_type, "; position terms are given (0: after the scale, 1: before it)");
  if (operands.pse && options.pse_type == 1) scores.add_(*operands.pse);
  scores.mul_(options.scale);
  if (operands.pse && options.pse_type == 0) scores.add_(*operands.pse);
  const at::Tensor hidden = excluded(operands.mask, options, scores.size(2), scores.size(3));
  if (hidden.defined()) scores.masked_fill_(hidden, -kInfinity);
  return scores;
}

at::Tensor per_head(const at::Tensor& sink) { return sink.view({1, -1, 1, 1}); }

void attention(const Operands& operands, const Options& options, at::Tensor& softmax_max, at::Tensor& softmax_sum,
               at::Tensor& out) {
  const Heads heads = split(operands, options);
  at::Tensor scores = masked_scores(heads, operands, options);
  // A query that sees no key gets zeros: its maximum counts as 0, its sum as 1.
  at::Tensor highest = scores.size(3) == 0
                           ? at::full({scores.size(0), scores.size(1), scores.size(2), 1}, -kInfinity, scores.options())
                           : scores.amax(3, true);
  if (operands.sink) highest = at::maximum(highest, per_head(*operands.sink));
  highest.masked_fill_(highest.eq(-kInfinity), 0);
  at::Tensor weights = scores.sub_(highest).exp_();
  at::Tensor sum = weights.sum(3, true);
  if (operands.sink) sum.add_(at::sub(per_head(*operands.sink), highest).exp_());
  sum.masked_fill_(sum.eq(0), 1);
  weights.div_(sum);
  if (operands.drop_mask) weights.mul_(dropout_factors(*operands.drop_mask, weights.sizes(), options.keep_prob));
  assign_heads(out, at::matmul(weights, heads.value), options.layout);
  // Statistics are repeated over a block of 8, as the device stores them.
  softmax_max.copy_(highest.expand(softmax_max.sizes()));
  softmax_sum.copy_(sum.expand(softmax_sum.sizes()));
}

struct Gradients {
  at::Tensor &query, &key, &value, &pse, &sink;
};

void attention_backward(const Operands& operands, const Options& options, const at::Tensor& dy,
                        const OptionalTensor& softmax_max, const OptionalTensor& softmax_sum,
                        const Gradients& gradients) {
  require(softmax_max && softmax_sum, ACLNN_ERR_PARAM_NULLPTR, "the softmax's maximum and sum are needed");
  const Heads heads = split(operands, options);
  const at::Tensor grad = computed(split_heads(dy, options.layout, options.heads));
  const at::Tensor highest = softmax_max->slice(3, 0, 1), sum = softmax_sum->slice(3, 0, 1);
  const at::Tensor weights = masked_scores(heads, operands, options).sub_(highest).exp_().div_(sum);
  at::Tensor by_weights = at::matmul(grad, heads.value.transpose(2, 3));
  at::Tensor kept = weights;
  if (operands.drop_mask) {
    const at::Tensor factors = dropout_factors(*operands.drop_mask, weights.sizes(), options.keep_prob);
    kept = at::mul(weights, factors);
    by_weights.mul_(factors);
  }
  const at::Tensor along = at::mul(by_weights, weights).sum(3, true);
  const at::Tensor by_scores = by_weights.sub_(along).mul_(weights);
  assign_heads(gradients.value, join_groups(at::matmul(kept.transpose(2, 3), grad), heads.groups), options.layout);
  if (operands.pse && gradients.pse.defined()) {
    const at::Tensor by_pse = at::sum_to(by_scores, operands.pse->sizes());
    assign(gradients.pse, options.pse_type == 1 ? at::mul(by_pse, options.scale) : by_pse);
  }
  if (operands.sink && gradients.sink.defined()) {
    const at::Tensor share = at::sub(per_head(*operands.sink), highest).exp_().div_(sum);
    assign(gradients.sink, share.mul_(along).sum({0, 2, 3}).neg_().view(gradients.sink.sizes()));
  }
  by_scores.mul_(options.scale);
  assign_heads(gradients.query, at::matmul(by_scores, heads.key), options.layout);
  assign_heads(gradients.key, join_groups(at::matmul(by_scores.transpose(2, 3), heads.query), heads.groups),
               options.layout);
}

const OptionalTensor kNone;
at::Tensor no_tensor;  // an output that a form does not have

void transform_bias_rescale(const at::Tensor& qkv, const at::Tensor& bias, int64_t heads, at::Tensor& q, at::Tensor& k,
                            at::Tensor& v) {
  const auto [query, key, value] = at::_transform_bias_rescale_qkv(qkv, bias, heads);
  assign(q, query);
  assign(k, key);
  assign(v, value);
}

}  // namespace

// The parameters that all versions share, in their order.
#define TOKENS (Int, preTokens)(Int, nextTokens)(Int, headNum)(Text, inputLayout)(Int, innerPrecise)(Int, sparseMode)
#define STARTS (OptInts, prefixOptional)(OptInts, qStartIdxOptional)(OptInts, kvStartIdxOptional)
#define FORWARD_IN                                                                                                \
  (In, query)(In, key)(In, value)(OptIn, realShiftOptional)(OptIn, dropMaskOptional)(OptIn, paddingMaskOptional)( \
      OptIn, attenMaskOptional)
#define FORWARD_OUT (Out, softmaxMaxOut)(Out, softmaxSumOut)(OptOut, softmaxOutOut)(Out, attentionOutOut)
#define BACKWARD_IN                                                                                                \
  (In, query)(In, keyIn)(In, value)(In, dy)(OptIn, pseShiftOptional)(OptIn, dropMaskOptional)(                     \
      OptIn, paddingMaskOptional)(OptIn, attenMaskOptional)(OptIn, softmaxMaxOptional)(OptIn, softmaxSumOptional)( \
      OptIn, softmaxInOptional)(OptIn, attentionInOptional)
#define BACKWARD_OUT (Out, dqOut)(Out, dkOut)(Out, dvOut)(OptOut, dpseOut)
#define OPTIONS(PSE_TYPE) \
  {prefixOptional, scaleValue, keepProb, preTokens, nextTokens, headNum, inputLayout, sparseMode, PSE_TYPE}
#define FORWARD(SINK, PSE_TYPE)                                                                                   \
  attention({query, key, value, realShiftOptional, dropMaskOptional, attenMaskOptional, SINK}, OPTIONS(PSE_TYPE), \
            softmaxMaxOut, softmaxSumOut, attentionOutOut)
#define BACKWARD(SINK, PSE_TYPE, DSINK)                                                                  \
  attention_backward({query, keyIn, value, pseShiftOptional, dropMaskOptional, attenMaskOptional, SINK}, \
                     OPTIONS(PSE_TYPE), dy, softmaxMaxOptional, softmaxSumOptional,                      \
                     {dqOut, dkOut, dvOut, dpseOut, DSINK})

ACLNN(FlashAttentionScore, FORWARD_IN(OptInts, prefixOptional)(Double, scaleValue)(Double, keepProb)TOKENS FORWARD_OUT,
      FORWARD(kNone, 1))
ACLNN(FlashAttentionScoreV2, FORWARD_IN STARTS(Double, scaleValue)(Double, keepProb) TOKENS(Int, pseType) FORWARD_OUT,
      FORWARD(kNone, pseType))
ACLNN(FlashAttentionScoreV3,
      FORWARD_IN(OptIn, sinkOptional) STARTS(Double, scaleValue)(Double, keepProb) TOKENS(Int, pseType) FORWARD_OUT,
      FORWARD(sinkOptional, pseType))
ACLNN(FlashAttentionScoreGrad,
      BACKWARD_IN(OptInts, prefixOptional)(Double, scaleValue)(Double, keepProb)TOKENS BACKWARD_OUT,
      BACKWARD(kNone, 1, no_tensor))
ACLNN(FlashAttentionScoreGradV2,
      BACKWARD_IN STARTS(Double, scaleValue)(Double, keepProb) TOKENS(Int, pseType) BACKWARD_OUT,
      BACKWARD(kNone, pseType, no_tensor))
ACLNN(FlashAttentionScoreGradV3,
      BACKWARD_IN(OptIn, sinkInOptional) STARTS(Double, scaleValue)(Double, keepProb) TOKENS(Int, pseType)
          BACKWARD_OUT(OptOut, dsinkOut),
      BACKWARD(sinkInOptional, pseType, dsinkOut))
ACLNN(TransformBiasRescaleQkv, (In, qkv)(In, qkvBias)(Int, numHeads)(Out, qOut)(Out, kOut)(Out, vOut),
      transform_bias_rescale(qkv, qkvBias, numHeads, qOut, kOut, vOut))
