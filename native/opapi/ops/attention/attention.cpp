// native/opapi/ops/attention/attention.cpp
// Scaled dot-product attention with its gradient, for queries of equal length (layouts BNSD, BSND, BSH, SBH; H = N *
// D), and the split of a joint projection into query, key and value. A reference: the scores of a block
// (attention_blocks.h) exist as one tensor.
#include "opapi/ops/attention/attention.h"

#include <ATen/ExpandUtils.h>

#include <algorithm>
#include <limits>

#include "opapi/ops/attention/attention_blocks.h"
#include "opapi/ops/attention/variable_length_attention.h"
#include "opapi/ops/common/refusal.h"

namespace opwright::opapi::attention {

namespace {

// The keys that a query may not see, by position: key - query beyond `next`, or before `pre`.
at::Tensor outside_band(int64_t queries, int64_t keys, int64_t pre, int64_t next) {
  constexpr int64_t kFar = int64_t{1} << 40;  // beyond every key, and sums with it do not overflow
  pre = std::clamp(pre, -kFar, kFar);
  next = std::clamp(next, -kFar, kFar);
  at::Tensor outside = at::empty({queries, keys}, at::kBool);
  bool* row = outside.mutable_data_ptr<bool>();
  for (int64_t query = 0; query < queries; ++query, row += keys) {
    const int64_t first = std::clamp<int64_t>(query - pre, 0, keys);
    const int64_t end = std::clamp<int64_t>(query + next + 1, first, keys);
    std::fill(row, row + first, true);
    std::fill(row + first, row + end, false);
    std::fill(row + end, row + keys, true);
  }
  return outside;
}

int64_t groups_of(const Problem& problem) {
  const int64_t heads = problem.query.size(1), key_heads = problem.key.size(1);
  require(key_heads > 0 && heads % key_heads == 0, ACLNN_ERR_PARAM_INVALID, "the query's ", heads,
          " heads are not a multiple of the key's ", key_heads);
  return heads / key_heads;
}

// The rows of the query's heads that share a head of key and value, one below the other: [B, N / groups, groups * S,
// _].
at::Tensor joined(const at::Tensor& rows, int64_t groups) {
  if (groups == 1) return rows;
  return rows.reshape({rows.size(0), rows.size(1) / groups, groups * rows.size(2), rows.size(3)});
}

// rows [B, N, S, K] times a matrix for each head of key and value, [B, N / groups, K, M].
at::Tensor product(const at::Tensor& rows, const at::Tensor& matrices, int64_t groups) {
  const at::Tensor result = at::matmul(joined(rows, groups), matrices);
  return groups == 1 ? result : result.view({rows.size(0), rows.size(1), rows.size(2), matrices.size(3)});
}

at::Tensor per_head(const at::Tensor& sink) { return sink.view({1, -1, 1, 1}); }

at::Tensor masked_scores(const Problem& problem, int64_t groups) {
  at::Tensor scores = product(problem.query, problem.key.transpose(2, 3), groups);
  if (problem.position.defined() && problem.scale_position) scores.add_(problem.position);
  scores.mul_(problem.scale);
  if (problem.position.defined() && !problem.scale_position) scores.add_(problem.position);
  if (problem.hidden.defined()) {
    const auto beyond = [&](const at::Tensor& tensor) {
      return tensor.size(-1) > 1 ? tensor.slice(-1, problem.clear) : tensor;
    };
    scores.slice(-1, problem.clear).masked_fill_(beyond(problem.hidden), -kInfinity);
  }
  return scores;
}

}  // namespace

at::Tensor hidden_keys(const Sparsity& sparsity, const OptionalTensor& mask, const OptionalTensor& prefix,
                       int64_t queries, int64_t keys) {
  constexpr int64_t kEverything = std::numeric_limits<int32_t>::max();
  if (!mask) return {};
  const int64_t pre = sparsity.pre_tokens, next = sparsity.next_tokens;
  const int64_t shift = keys - queries;  // aligns the lower right corners
  switch (sparsity.mode) {
    case 0: {
      const at::Tensor given = mask->to(at::kBool);
      return pre >= queries && next >= keys ? given : given.logical_or(outside_band(queries, keys, pre, next));
    }
    case 1:
    case 5:
      return mask->to(at::kBool);
    case 2:
      return outside_band(queries, keys, kEverything, 0);
    case 3:
      return outside_band(queries, keys, kEverything, shift);
    case 4:
      return outside_band(queries, keys, pre - shift, next + shift);
    case 6:
      require(prefix.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'prefix' is needed in sparse mode 6");
      return outside_band(queries, keys, kEverything, shift).logical_and(at::arange(keys).ge(*prefix));
    default:
      fail(ACLNN_ERR_PARAM_INVALID, "parameter 'sparseMode' is ", sparsity.mode, "; available are 0 to 6");
  }
}

at::Tensor dropout_factors(const at::Tensor& bits, int64_t first_bit, at::IntArrayRef scores, double keep_prob) {
  const int64_t last_bit = first_bit + c10::multiply_integers(scores);
  require(last_bit <= bits.numel() * 8, ACLNN_ERR_PARAM_INVALID, "parameter 'dropMask' has ", bits.numel(), " bytes; ",
          last_bit, " bits are needed");
  const int64_t first_byte = first_bit / 8;
  const at::Tensor bytes = bits.reshape(-1).slice(0, first_byte, (last_bit + 7) / 8).unsqueeze(1);
  const at::Tensor spread = bytes.bitwise_right_shift(at::arange(8, at::kByte)).bitwise_and_(1).view(-1);
  const int64_t skipped = first_bit - first_byte * 8;
  return spread.slice(0, skipped, skipped + last_bit - first_bit).view(scores).to(at::kFloat).div_(keep_prob);
}

namespace {

// weights = softmax(scores). The largest weight of a row is 1 / sum, since the largest score's exponential is 1.
at::Tensor weigh(const at::Tensor& scores, Result& result) {
  const at::Tensor weights = at::_softmax(scores, 3, false);
  result.sum = weights.amax(3, true).reciprocal_();
  if (!result.blind.any().item<bool>()) return weights;
  result.sum.masked_fill_(result.blind, 1);
  return weights.masked_fill_(result.blind, 0);
}

// The same with a score more for each head, which takes a share and gives no value.
at::Tensor weigh_with_sink(const at::Tensor& sink, const at::Tensor& scores, Result& result) {
  const at::Tensor weights = scores.sub_(result.highest).exp_();
  result.sum = weights.sum(3, true).add_(at::sub(sink, result.highest).exp_());
  return weights.div_(result.sum);
}

}  // namespace

Result forward(const Problem& problem) {
  const int64_t groups = groups_of(problem);
  const at::Tensor scores = masked_scores(problem, groups);
  Result result;
  // A query that sees no key gets zeros: its maximum counts as 0, its sum as 1.
  at::DimVector rows(scores.sizes());
  rows[3] = 1;
  result.highest = scores.size(3) == 0 ? at::full(rows, -kInfinity, scores.options()) : scores.amax(3, true);
  if (problem.sink.defined()) result.highest = at::maximum(result.highest, per_head(problem.sink));
  result.blind = result.highest.eq(-kInfinity);
  result.highest.masked_fill_(result.blind, 0);
  at::Tensor weights;
  if (scores.size(3) == 0) {
    weights = scores;
    result.sum = at::ones(rows, scores.options());
  } else {
    weights = problem.sink.defined() ? weigh_with_sink(per_head(problem.sink), scores, result) : weigh(scores, result);
  }
  if (problem.drop.defined()) weights.mul_(problem.drop);
  result.out = product(weights, problem.value, groups);
  return result;
}

Gradients backward(const Problem& problem, const at::Tensor& grad, const at::Tensor& highest, const at::Tensor& sum) {
  const int64_t groups = groups_of(problem);
  const at::Tensor weights = masked_scores(problem, groups).sub_(highest).exp_().div_(sum);
  at::Tensor by_weights = product(grad, problem.value.transpose(2, 3), groups);
  at::Tensor kept = weights;
  if (problem.drop.defined()) {
    kept = at::mul(weights, problem.drop);
    by_weights.mul_(problem.drop);
  }
  const at::Tensor along = at::mul(by_weights, weights).sum(3, true);
  const at::Tensor by_scores = by_weights.sub_(along).mul_(weights);
  Gradients result;
  result.value = at::matmul(joined(kept, groups).transpose(2, 3), joined(grad, groups));
  if (problem.position.defined()) {
    result.position = problem.scale_position ? at::mul(by_scores, problem.scale) : by_scores.clone();
  }
  if (problem.sink.defined()) {
    const at::Tensor share = at::sub(per_head(problem.sink), highest).exp_().div_(sum);
    result.sink = share.mul_(along).sum(at::IntArrayRef{0, 2, 3}).neg_();
  }
  by_scores.mul_(problem.scale);
  result.query = product(by_scores, problem.key, groups);
  result.key = at::matmul(joined(by_scores, groups).transpose(2, 3), joined(problem.query, groups));
  return result;
}

}  // namespace opwright::opapi::attention

namespace {

using namespace opapi::attention;

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
  std::optional<std::pair<int64_t, int64_t>> seed = std::nullopt;  // and offset: dropout without a mask
};

struct Operands {
  const at::Tensor &query, &key, &value;
  const OptionalTensor &pse, &drop_mask, &mask, &sink;
};

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

Problem problem_of(const Operands& operands, const Options& options) {
  require(!operands.pse || options.pse_type == 0 || options.pse_type == 1, ACLNN_ERR_PARAM_INVALID,
          "parameter 'pseType' is ", options.pse_type, "; position terms are given (0: after the scale, 1: before it)");
  Problem problem;
  problem.query = widened(split_heads(operands.query, options.layout, options.heads));
  int64_t key_heads = 1;  // read from the tensor unless the layout joins heads
  if (options.layout == "BSH" || options.layout == "SBH") {
    key_heads = divided(operands.key.size(2), problem.query.size(3), "values of a head of the query");
  }
  problem.key = widened(split_heads(operands.key, options.layout, key_heads));
  problem.value = widened(split_heads(operands.value, options.layout, key_heads));
  problem.scale = options.scale;
  const int64_t queries = problem.query.size(2), keys = problem.key.size(2);
  OptionalTensor prefix;
  if (options.prefix) prefix = at::tensor(*options.prefix).view({-1, 1, 1, 1});
  const Sparsity sparsity{options.sparse_mode, options.pre_tokens, options.next_tokens};
  problem.hidden = hidden_keys(sparsity, operands.mask, prefix, queries, keys);
  problem.position = or_undefined(operands.pse);
  problem.scale_position = options.pse_type == 1;
  problem.sink = or_undefined(operands.sink);
  if (operands.drop_mask) {
    const int64_t scores[] = {problem.query.size(0), problem.query.size(1), queries, keys};
    problem.drop = dropout_factors(*operands.drop_mask, 0, scores, options.keep_prob);
  } else if (options.seed && options.keep_prob < 1) {
    const auto [seed, offset] = *options.seed;
    const at::Tensor kept =
        at::rand({problem.query.size(0), problem.query.size(1), queries, keys}, generator(seed, offset), at::kFloat);
    problem.drop = kept.lt(options.keep_prob).to(at::kFloat).div_(options.keep_prob);
  }
  return problem;
}

void attend(const Operands& operands, const Options& options, at::Tensor& softmax_max, at::Tensor& softmax_sum,
            at::Tensor& out) {
  const Result result = forward_in_blocks(problem_of(operands, options));
  assign_heads(out, result.out, options.layout);
  // Statistics are repeated over a block of 8, as the device stores them.
  softmax_max.copy_(result.highest.expand(softmax_max.sizes()));
  softmax_sum.copy_(result.sum.expand(softmax_sum.sizes()));
}

struct GradientOutputs {
  at::Tensor &query, &key, &value, &pse, &sink;
};

void attend_backward(const Operands& operands, const Options& options, const at::Tensor& dy,
                     const OptionalTensor& softmax_max, const OptionalTensor& softmax_sum,
                     const GradientOutputs& outputs) {
  require(softmax_max && softmax_sum, ACLNN_ERR_PARAM_NULLPTR, "the softmax's maximum and sum are needed");
  const at::Tensor grad = widened(split_heads(dy, options.layout, options.heads));
  const Gradients gradients =
      backward_in_blocks(problem_of(operands, options), grad, softmax_max->slice(3, 0, 1), softmax_sum->slice(3, 0, 1));
  assign_heads(outputs.query, gradients.query, options.layout);
  assign_heads(outputs.key, gradients.key, options.layout);
  assign_heads(outputs.value, gradients.value, options.layout);
  if (operands.pse && outputs.pse.defined()) {
    assign(outputs.pse, at::sum_to(gradients.position, operands.pse->sizes()));
  }
  if (operands.sink && outputs.sink.defined()) assign(outputs.sink, gradients.sink.view(outputs.sink.sizes()));
}

// The form for Ascend950 also stands for attention of packed sequences, of which a mask of dropout is made elsewhere.
bool is_packed(const std::string& layout, const OptionalTensor& drop_mask, double keep_prob) {
  if (layout != "TND") return false;
  require(keep_prob == 1 || drop_mask, ACLNN_ERR_PARAM_INVALID, "parameter 'keepProb' is ", keep_prob,
          " without a mask; available for packed sequences: 1, or a mask");
  return true;
}

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
#define FORWARD(SINK, PSE_TYPE)                                                                                \
  attend({query, key, value, realShiftOptional, dropMaskOptional, attenMaskOptional, SINK}, OPTIONS(PSE_TYPE), \
         softmaxMaxOut, softmaxSumOut, attentionOutOut)
#define BACKWARD(SINK, PSE_TYPE, DSINK)                                                               \
  attend_backward({query, keyIn, value, pseShiftOptional, dropMaskOptional, attenMaskOptional, SINK}, \
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
      BACKWARD(kNone, 1, NoTensor{}))
ACLNN(FlashAttentionScoreGradV2,
      BACKWARD_IN STARTS(Double, scaleValue)(Double, keepProb) TOKENS(Int, pseType) BACKWARD_OUT,
      BACKWARD(kNone, pseType, NoTensor{}))
ACLNN(FlashAttentionScoreGradV3,
      BACKWARD_IN(OptIn, sinkInOptional) STARTS(Double, scaleValue)(Double, keepProb) TOKENS(Int, pseType)
          BACKWARD_OUT(OptOut, dsinkOut),
      BACKWARD(sinkInOptional, pseType, dsinkOut))

#define UNAVAILABLE(NAME) {NAME##Optional, #NAME}
#define LATER_UNAVAILABLE \
  UNAVAILABLE(queryRope), UNAVAILABLE(keyRope), UNAVAILABLE(dScaleQ), UNAVAILABLE(dScaleK), UNAVAILABLE(dScaleV)
#define LATER_IN                                                                                            \
  (OptIn, queryRopeOptional)(OptIn, keyRopeOptional)(OptIn, dScaleQOptional)(OptIn, dScaleKOptional)(OptIn, \
                                                                                                     dScaleVOptional)
#define LATER_STARTS                                                                          \
  (OptInts, prefixOptional)(OptInts, actualSeqQLenOptional)(OptInts, actualSeqKvLenOptional)( \
      OptInts, qStartIdxOptional)(OptInts, kvStartIdxOptional)
#define LATER_OPTIONS                                              \
  {prefixOptional, scaleValue,  keepProb,   preTokens, nextTokens, \
   headNum,        inputLayout, sparseMode, pseType,   std::pair(seed, offset)}
// outDtype is for quantised operands only and the layout of the softmax's statistics for packed sequences (CANN's
// aclnnFlashAttentionScoreV4.md).
ACLNN(
    FlashAttentionScoreV4,
    FORWARD_IN LATER_IN(OptIn, sinkOptional) LATER_STARTS(Double, scaleValue)(Double, keepProb)
        TOKENS(Int, outDtype)(Int, pseType)(Text, softmaxOutLayout)(Int, seed)(Int, offset)FORWARD_OUT,
    refuse({LATER_UNAVAILABLE});
    if (is_packed(inputLayout, dropMaskOptional, keepProb)) {
      attend_sequences(
          {query, key, value, realShiftOptional, dropMaskOptional, attenMaskOptional, sinkOptional, kNone, kNone},
          OPWRIGHT_SEQUENCE_OPTIONS(softmaxOutLayout), softmaxMaxOut, softmaxSumOut, attentionOutOut);
    } else {
      attend({query, key, value, realShiftOptional, dropMaskOptional, attenMaskOptional, sinkOptional}, LATER_OPTIONS,
             softmaxMaxOut, softmaxSumOut, attentionOutOut);
    })
ACLNN(
    FlashAttentionScoreGradV4,
    BACKWARD_IN(OptIn, sinkInOptional) LATER_IN(OptIn, dScaleDyOptional)(OptIn, dScaleOOptional) LATER_STARTS(
        Double, scaleValue)(Double, keepProb)(Int, preTokens)(Int, nextTokens)(Int, headNum)(Text, inputLayout)(
        Text, softmaxInLayout)(Int, innerPrecise)(Int, sparseMode)(Int, pseType)(Int, seed)(Int, offset)(Int, outDtype)(
        Out, dqOut)(Out, dkOut)(Out, dvOut)(OptOut, dqRopeOut)(OptOut, dkRopeOut)(OptOut, dpseOut)(OptOut, dsinkOut),
    refuse({LATER_UNAVAILABLE, UNAVAILABLE(dScaleDy), UNAVAILABLE(dScaleO)});
    if (is_packed(inputLayout, dropMaskOptional, keepProb)) {
      attend_sequences_backward(
          {query, keyIn, value, pseShiftOptional, dropMaskOptional, attenMaskOptional, sinkInOptional, kNone, kNone},
          OPWRIGHT_SEQUENCE_OPTIONS(softmaxInLayout), dy, softmaxMaxOptional, softmaxSumOptional,
          {dqOut, dkOut, dvOut, dsinkOut});
    } else {
      attend_backward({query, keyIn, value, pseShiftOptional, dropMaskOptional, attenMaskOptional, sinkInOptional},
                      LATER_OPTIONS, dy, softmaxMaxOptional, softmaxSumOptional,
                      {dqOut, dkOut, dvOut, dpseOut, dsinkOut});
    })

ACLNN(TransformBiasRescaleQkv, (In, qkv)(In, qkvBias)(Int, numHeads)(Out, qOut)(Out, kOut)(Out, vOut),
      transform_bias_rescale(qkv, qkvBias, numHeads, qOut, kOut, vOut))

#undef TOKENS
#undef STARTS
#undef FORWARD_IN
#undef FORWARD_OUT
#undef BACKWARD_IN
#undef BACKWARD_OUT
#undef OPTIONS
#undef FORWARD
#undef BACKWARD
#undef UNAVAILABLE
#undef LATER_UNAVAILABLE
#undef LATER_IN
#undef LATER_STARTS
#undef LATER_OPTIONS
