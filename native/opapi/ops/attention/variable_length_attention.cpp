// native/opapi/ops/attention/variable_length_attention.cpp
#include "opapi/ops/attention/variable_length_attention.h"

#include "opapi/ops/common/max_workspace.h"

namespace {

using namespace opapi::attention;

struct SequenceSpan {
  int64_t start, length;
};

// From the ends of sequences; zeros at the end stand for sequences that do not take part.
std::vector<SequenceSpan> spans_of(at::OptionalIntArrayRef ends, int64_t tokens, const char* name) {
  require(ends.has_value() && !ends->empty(), ACLNN_ERR_PARAM_NULLPTR, "parameter '", name,
          "' is needed in layout TND: the end of each sequence");
  std::vector<SequenceSpan> spans;
  int64_t start = 0;
  for (const int64_t end : *ends) {
    const int64_t stop = end == 0 ? start : end;
    require(start <= stop && stop <= tokens, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is ", *ends,
            "; the ends must not decrease nor exceed the ", tokens, " tokens");
    spans.push_back({start, stop - start});
    start = stop;
  }
  return spans;
}

// Rows of [T, N, D], as [1, N, S, D].
at::Tensor rows(const at::Tensor& tokens, SequenceSpan span) {
  return tokens.narrow(0, span.start, span.length).transpose(0, 1).unsqueeze(0);
}

// Where a sequence's maxima and sums are in [T, N, 8]: in the order of the tokens, or, by default, head by head.
at::Tensor statistics(const at::Tensor& all, SequenceSpan span, const std::string& layout) {
  const at::Tensor own = all.narrow(0, span.start, span.length);
  if (layout == "same_as_input") return own.transpose(0, 1).unsqueeze(0);
  return own.view({1, all.size(1), span.length, all.size(2)});
}

void check(const VariableLengthOperands& operands, const VariableLengthOptions& options) {
  require(options.layout == "TND", ACLNN_ERR_PARAM_INVALID, "parameter 'inputLayout' is '", options.layout,
          "'; it must be TND");
  require(options.statistics_layout.empty() || options.statistics_layout == "same_as_input", ACLNN_ERR_PARAM_INVALID,
          "the softmax layout is '", options.statistics_layout, "'; it must be empty or same_as_input");
  require(!operands.pse, ACLNN_ERR_PARAM_INVALID,
          "a position term (pse, realShift) is given; it is not available for packed sequences");
  require((!operands.query_rope || operands.query_rope->numel() == 0) &&
              (!operands.key_rope || operands.key_rope->numel() == 0),
          ACLNN_ERR_PARAM_INVALID, "parameters 'queryRope' and 'keyRope' are given; they are not available");
  for (const at::Tensor& tensor : {operands.query, operands.key, operands.value}) {
    require(tensor.dim() == 3, ACLNN_ERR_PARAM_INVALID, "a tensor has shape ", tensor.sizes(),
            "; TND has 3 dimensions");
  }
  require(operands.query.size(1) == options.heads, ACLNN_ERR_PARAM_INVALID, "parameter 'headNum' is ", options.heads,
          ", but the query has ", operands.query.size(1), " heads");
}

// Calls compute(problem, queries, keys) for each sequence that has rows.
template <class Compute>
void for_each_sequence(const VariableLengthOperands& operands, const VariableLengthOptions& options,
                       const Compute& compute) {
  check(operands, options);
  const std::vector<SequenceSpan> queries = spans_of(options.query_ends, operands.query.size(0), "actualSeqQLen");
  const std::vector<SequenceSpan> keys = spans_of(options.key_ends, operands.key.size(0), "actualSeqKvLen");
  require(queries.size() == keys.size(), ACLNN_ERR_PARAM_INVALID, "there are lengths of ", queries.size(),
          " sequences of queries and ", keys.size(), " of keys");
  const int64_t heads = options.heads;
  int64_t drop_bits = 0;  // used by earlier sequences
  for (size_t i = 0; i < queries.size(); ++i) {
    const int64_t query_count = queries[i].length, key_count = keys[i].length;
    if (query_count == 0) continue;
    Problem problem;
    problem.query = widened(rows(operands.query, queries[i]));
    problem.key = widened(rows(operands.key, keys[i]));
    problem.value = widened(rows(operands.value, keys[i]));
    problem.scale = options.scale;
    problem.sink = or_undefined(operands.sink);
    OptionalTensor mask = operands.mask, prefix;
    if (mask && options.sparsity.mode <= 1) mask = mask->slice(-2, 0, query_count).slice(-1, 0, key_count);
    if (options.prefix && !options.prefix->empty()) {
      require(i < options.prefix->size(), ACLNN_ERR_PARAM_INVALID, "parameter 'prefix' has ", options.prefix->size(),
              " values for ", queries.size(), " sequences");
      prefix = at::scalar_tensor((*options.prefix)[i], at::kLong);
    }
    problem.hidden = hidden_keys(options.sparsity, mask, prefix, query_count, key_count);
    if (operands.drop_mask) {
      const int64_t scores[] = {1, heads, query_count, key_count};
      problem.drop = dropout_factors(*operands.drop_mask, drop_bits, scores, options.keep_prob);
      drop_bits += heads * query_count * key_count;
    }
    compute(problem, queries[i], keys[i]);
  }
}

}  // namespace

namespace opwright::opapi::attention {

void attend_sequences(const VariableLengthOperands& operands, const VariableLengthOptions& options,
                      at::Tensor& softmax_max, at::Tensor& softmax_sum, at::Tensor& out) {
  out.zero_();
  for_each_sequence(operands, options, [&](const Problem& problem, SequenceSpan queries, SequenceSpan) {
    const Result result = forward(problem);
    rows(out, queries).copy_(result.out);
    // Statistics are repeated over a block of 8, as the device stores them.
    statistics(softmax_max, queries, options.statistics_layout).copy_(result.highest);
    statistics(softmax_sum, queries, options.statistics_layout).copy_(result.sum);
  });
}

void attend_sequences_backward(const VariableLengthOperands& operands, const VariableLengthOptions& options,
                               const at::Tensor& dy, const OptionalTensor& softmax_max,
                               const OptionalTensor& softmax_sum, const VariableLengthGradientOutputs& outputs) {
  require(softmax_max && softmax_sum, ACLNN_ERR_PARAM_NULLPTR, "the softmax's maximum and sum are needed");
  for (at::Tensor* out : {&outputs.query, &outputs.key, &outputs.value}) out->zero_();
  const bool wants_sink = operands.sink && outputs.sink.defined();
  if (wants_sink) outputs.sink.zero_();
  for_each_sequence(operands, options, [&](const Problem& problem, SequenceSpan queries, SequenceSpan keys) {
    const at::Tensor highest = statistics(*softmax_max, queries, options.statistics_layout).narrow(3, 0, 1);
    const at::Tensor sum = statistics(*softmax_sum, queries, options.statistics_layout).narrow(3, 0, 1);
    const Gradients gradients = backward(problem, widened(rows(dy, queries)), highest, sum);
    rows(outputs.query, queries).copy_(gradients.query);
    rows(outputs.key, keys).copy_(gradients.key);
    rows(outputs.value, keys).copy_(gradients.value);
    if (wants_sink) outputs.sink.add_(gradients.sink.view(outputs.sink.sizes()));
  });
}

}  // namespace opwright::opapi::attention

namespace {

const std::string kByHead;  // the older functions' order of statistics

}  // namespace

// The parameters that all versions share, in their order.
#define LENGTHS (OptInts, prefixOptional)(OptInts, actualSeqQLenOptional)(OptInts, actualSeqKvLenOptional)
#define STARTS (OptInts, qStartIdxOptional)(OptInts, kvStartIdxOptional)
#define ATTRIBUTES                                                                                          \
  (Double, scaleValue)(Double, keepProb)(Int, preTokens)(Int, nextTokens)(Int, headNum)(Text, inputLayout)( \
      Int, innerPrecise)(Int, sparseMode)
#define PLAIN_IN (In, query)(In, key)(In, value)
#define ROPE_IN (In, query)(OptIn, queryRope)(In, key)(OptIn, keyRope)(In, value)
#define TERMS (OptIn, realShiftOptional)(OptIn, dropMaskOptional)(OptIn, paddingMaskOptional)(OptIn, attenMaskOptional)
#define FORWARD_OUT (Out, softmaxMaxOut)(Out, softmaxSumOut)(OptOut, softmaxOutOut)(Out, attentionOutOut)

#define GRAD_PLAIN_IN (In, query)(In, keyIn)(In, value)(In, dy)
#define GRAD_ROPE_IN (In, query)(OptIn, queryRope)(In, keyIn)(OptIn, keyInRope)(In, value)(In, dy)
#define GRAD_TERMS                                                                                          \
  (OptIn, pseShiftOptional)(OptIn, dropMaskOptional)(OptIn, paddingMaskOptional)(OptIn, attenMaskOptional)( \
      OptIn, softmaxMaxOptional)(OptIn, softmaxSumOptional)(OptIn, softmaxInOptional)(OptIn, attentionInOptional)
#define GRAD_PLAIN_OUT (Out, dqOut)(Out, dkOut)(Out, dvOut)(OptOut, dpseOut)
#define GRAD_ROPE_OUT (Out, dqOut)(OptOut, dqRopeOut)(Out, dkOut)(OptOut, dkRopeOut)(Out, dvOut)(OptOut, dpseOut)

#define FORWARD(SINK, QUERY_ROPE, KEY_ROPE, STATISTICS_LAYOUT)                                                 \
  attend_sequences(                                                                                            \
      {query, key, value, realShiftOptional, dropMaskOptional, attenMaskOptional, SINK, QUERY_ROPE, KEY_ROPE}, \
      OPWRIGHT_SEQUENCE_OPTIONS(STATISTICS_LAYOUT), softmaxMaxOut, softmaxSumOut, attentionOutOut)
#define BACKWARD(SINK, QUERY_ROPE, KEY_ROPE, STATISTICS_LAYOUT, DSINK)                                          \
  attend_sequences_backward(                                                                                    \
      {query, keyIn, value, pseShiftOptional, dropMaskOptional, attenMaskOptional, SINK, QUERY_ROPE, KEY_ROPE}, \
      OPWRIGHT_SEQUENCE_OPTIONS(STATISTICS_LAYOUT), dy, softmaxMaxOptional, softmaxSumOptional,                 \
      {dqOut, dkOut, dvOut, DSINK})

#define FORWARD_V5_PARAMS            \
  ROPE_IN TERMS(OptIn, sinkOptional) \
  LENGTHS STARTS ATTRIBUTES(Int, pseType)(Text, softmaxOutLayout) FORWARD_OUT
#define BACKWARD_V5_PARAMS                       \
  GRAD_ROPE_IN GRAD_TERMS(OptIn, sinkInOptional) \
  LENGTHS STARTS ATTRIBUTES(Int, pseType)(Text, softmaxInLayout) GRAD_ROPE_OUT(OptOut, dsinkOut)

ACLNN(FlashAttentionVarLenScore, PLAIN_IN TERMS LENGTHS ATTRIBUTES FORWARD_OUT, FORWARD(kNone, kNone, kNone, kByHead))
ACLNN(FlashAttentionVarLenScoreV2, PLAIN_IN TERMS LENGTHS STARTS ATTRIBUTES(Int, pseType) FORWARD_OUT,
      FORWARD(kNone, kNone, kNone, kByHead))
ACLNN(FlashAttentionVarLenScoreV3, ROPE_IN TERMS LENGTHS STARTS ATTRIBUTES(Int, pseType) FORWARD_OUT,
      FORWARD(kNone, queryRope, keyRope, kByHead))
ACLNN(FlashAttentionVarLenScoreV4, PLAIN_IN TERMS LENGTHS ATTRIBUTES(Text, softmaxOutLayout) FORWARD_OUT,
      FORWARD(kNone, kNone, kNone, softmaxOutLayout))
ACLNN(FlashAttentionVarLenScoreV5, FORWARD_V5_PARAMS, FORWARD(sinkOptional, queryRope, keyRope, softmaxOutLayout))
ACLNN_MAX_WORKSPACE(FlashAttentionVarLenScoreV5, FORWARD_V5_PARAMS)

ACLNN(FlashAttentionUnpaddingScoreGrad, GRAD_PLAIN_IN GRAD_TERMS LENGTHS ATTRIBUTES GRAD_PLAIN_OUT,
      BACKWARD(kNone, kNone, kNone, kByHead, NoTensor{}))
ACLNN(FlashAttentionUnpaddingScoreGradV2,
      GRAD_PLAIN_IN GRAD_TERMS LENGTHS STARTS ATTRIBUTES(Int, pseType) GRAD_PLAIN_OUT,
      BACKWARD(kNone, kNone, kNone, kByHead, NoTensor{}))
ACLNN(FlashAttentionUnpaddingScoreGradV3, GRAD_ROPE_IN GRAD_TERMS LENGTHS STARTS ATTRIBUTES(Int, pseType) GRAD_ROPE_OUT,
      BACKWARD(kNone, queryRope, keyInRope, kByHead, NoTensor{}))
ACLNN(FlashAttentionUnpaddingScoreGradV4,
      GRAD_PLAIN_IN GRAD_TERMS LENGTHS ATTRIBUTES GRAD_PLAIN_OUT(Text, softmaxInLayout),
      BACKWARD(kNone, kNone, kNone, softmaxInLayout, NoTensor{}))
ACLNN(FlashAttentionUnpaddingScoreGradV5, BACKWARD_V5_PARAMS,
      BACKWARD(sinkInOptional, queryRope, keyInRope, softmaxInLayout, dsinkOut))
ACLNN_MAX_WORKSPACE(FlashAttentionUnpaddingScoreGradV5, BACKWARD_V5_PARAMS)

#undef LENGTHS
#undef STARTS
#undef ATTRIBUTES
#undef PLAIN_IN
#undef ROPE_IN
#undef TERMS
#undef FORWARD_OUT
#undef GRAD_PLAIN_IN
#undef GRAD_ROPE_IN
#undef GRAD_TERMS
#undef GRAD_PLAIN_OUT
#undef GRAD_ROPE_OUT
#undef FORWARD
#undef BACKWARD
#undef FORWARD_V5_PARAMS
#undef BACKWARD_V5_PARAMS
