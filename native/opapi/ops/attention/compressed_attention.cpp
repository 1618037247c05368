// native/opapi/ops/attention/compressed_attention.cpp
// Attention to the tokens of a window and to compressed keys, each of which stands for `ratio` tokens; and the choice
// of compressed keys by an indexer. MlaKeys are values too. In float32, a sequence at a time.
#include "opapi/ops/attention/compressed_tokens.h"
#include "opapi/ops/common/low_precision.h"
#include "opapi/ops/common/precision.h"
#include "opapi/ops/common/refusal.h"
#include "opapi/ops/common/refused.h"

namespace {

using namespace compressed;

// ---- the indexer

struct IndexerInputs {
  const at::Tensor &query, &key, &weights;
  TokenLengths queries, keys;
  OptionalTensor residual, table;
};

struct IndexerSettings {
  int64_t count, mode, ratio;
  const std::string &query_layout, &key_layout;
};

void select_keys(const IndexerInputs& inputs, const IndexerSettings& settings, bool wants_values, at::Tensor& indices,
                 at::Tensor& values) {
  require_layouts(settings.query_layout, settings.key_layout);
  require(settings.mode == kEverything || settings.mode == kCausal, ACLNN_ERR_PARAM_INVALID, "maskMode is ",
          settings.mode, "; allowed: 0, 3");
  require(settings.ratio > 0 && settings.count > 0, ACLNN_ERR_PARAM_INVALID, "cmpRatio and topk are ", settings.ratio,
          " and ", settings.count, "; they must be positive");
  require(settings.ratio == 1 || settings.mode == kEverything || inputs.residual, ACLNN_ERR_PARAM_NULLPTR,
          "cmpResidualK is needed with maskMode 3 and cmpRatio ", settings.ratio);
  require(indices.size(-1) == settings.count, ACLNN_ERR_PARAM_INVALID, "sparseIndices has the shape ", indices.sizes(),
          "; its last dimension must be topk, ", settings.count);
  const std::vector<TokenPlace> queries = places_of(inputs.query, settings.query_layout, inputs.queries, "q");
  const std::vector<TokenPlace> keys = places_of(inputs.key, settings.key_layout, inputs.keys, "k");
  require(queries.size() == keys.size(), ACLNN_ERR_PARAM_INVALID, "there are ", queries.size(),
          " sequences of queries and ", keys.size(), " of keys");
  indices.fill_(-1);
  if (wants_values) values.fill_(kLowest);
  for (size_t i = 0; i < queries.size(); ++i) {
    const int64_t rows = queries[i].count, count = keys[i].count, kept = std::min(settings.count, count);
    if (rows == 0 || count == 0) continue;
    const at::Tensor query = to_float(rows_for(inputs.query, settings.query_layout, queries[i], i)).transpose(0, 1);
    const at::Tensor key =
        to_float(tokens_of(inputs.key, settings.key_layout, inputs.table, keys[i], i, "k").select(1, 0));
    const at::Tensor weights = to_float(rows_for(inputs.weights, settings.query_layout, queries[i], i));
    const at::Tensor relevance = query.matmul(key.t()).relu_();  // [heads, rows, keys]
    at::Tensor scores = relevance.mul(weights.t().unsqueeze(2)).sum(0);
    const int64_t tokens = tokens_before(inputs.residual, i, count, settings.ratio, count * settings.ratio);
    const at::Tensor ends = seen_tokens(rows, tokens, settings.mode);
    scores.masked_fill_(visible_keys(ends, settings.ratio, count).logical_not_(), kLowest);
    const auto [sorted, order] = scores.sort(/*stable=*/true, 1, /*descending=*/true);
    const at::Tensor best = sorted.narrow(1, 0, kept);
    const at::Tensor chosen = order.narrow(1, 0, kept).masked_fill(best == kLowest, -1);
    rows_for(indices, settings.query_layout, queries[i], i).select(1, 0).narrow(1, 0, kept).copy_(chosen);
    if (!wants_values) continue;
    rows_for(values, settings.query_layout, queries[i], i).select(1, 0).narrow(1, 0, kept).copy_(best);
  }
}

// ---- attention

void attend_compressed(const MlaInputs& inputs, const MlaSettings& settings, bool wants_lse, at::Tensor& out,
                       at::Tensor& lse) {
  check(inputs, settings);
  require(inputs.sinks.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'sinks' is null");
  const std::vector<TokenPlace> queries = places_of(inputs.query, settings.query_layout, inputs.queries, "q");
  const std::vector<TokenPlace> keys =
      places_of(*inputs.original.keys, settings.key_layout, inputs.original.lengths, "oriKv");
  const bool compressed = inputs.compressed.keys.has_value();
  const std::vector<TokenPlace> more =
      compressed ? places_of(*inputs.compressed.keys, settings.key_layout, inputs.compressed.lengths, "cmpKv")
                 : std::vector<TokenPlace>(keys.size(), {0, 0});
  require(queries.size() == keys.size() && more.size() == keys.size(), ACLNN_ERR_PARAM_INVALID, "there are ",
          queries.size(), " sequences of queries, ", keys.size(), " of keys and ", more.size(), " of compressed keys");
  out.zero_();
  if (wants_lse) lse.fill_(-kLowest);
  for (size_t i = 0; i < queries.size(); ++i) {
    if (queries[i].count == 0) continue;
    const at::Tensor query = to_float(rows_for(inputs.query, settings.query_layout, queries[i], i)).transpose(0, 1);
    at::Tensor key = tokens_of(*inputs.original.keys, settings.key_layout, inputs.original.table, keys[i], i, "oriKv");
    at::Tensor seen = token_window(queries[i].count, keys[i].count, settings);
    if (compressed) {
      key = at::cat(
          {key, tokens_of(*inputs.compressed.keys, settings.key_layout, inputs.compressed.table, more[i], i, "cmpKv")});
      seen = at::cat({seen, seen_compressed(inputs, settings, queries[i], i, more[i].count, keys[i].count)}, 1);
    }
    const at::Tensor values = to_float(key.select(1, 0));  // [keys, D], one head
    const at::Tensor scores = query.matmul(values.t()).mul_(settings.scale).masked_fill_(seen.logical_not(), kLowest);
    const at::Tensor sinks = to_float(*inputs.sinks).view({-1, 1, 1}).expand({query.size(0), query.size(1), 1});
    const at::Tensor all = at::cat({scores, sinks}, 2);  // a sink takes its share and has no value
    const at::Tensor shares = all.softmax(2).narrow(2, 0, values.size(0));
    rows_for(out, settings.query_layout, queries[i], i).copy_(shares.matmul(values).transpose(0, 1));
    if (!wants_lse) continue;
    const at::Tensor logarithms = all.logsumexp(2).t();  // [rows, heads]
    at::Tensor rows = is_of_tokens(settings.query_layout)
                          ? lse.select(0, 0).narrow(0, queries[i].first, queries[i].count)
                          : lse.select(0, static_cast<int64_t>(i)).select(0, 0).narrow(0, 0, queries[i].count);
    rows.copy_(logarithms);
  }
}

}  // namespace

ACLNN(LightningIndexerV2,
      (In, q)(In, k)(In, w)(OptIn, cuSeqlensQOptional)(OptIn, cuSeqlensKOptional)(OptIn, sequsedQOptional)(
          OptIn, sequsedKOptional)(OptIn, cmpResidualKOptional)(OptIn, blockTableOptional)(
          OptIn, outputIdxOffsetOptional)(OptIn, metadataOptional)(Int, topk)(Int, maxSeqlenQ)(Text, layoutQ)(
          Text, layoutK)(Int, maskMode)(Int, cmpRatio)(Int, returnValue)(Out, sparseIndices)(OptOut, sparseValues),
      refuse({{sequsedQOptional, "sequsedQ"}, {outputIdxOffsetOptional, "outputIdxOffset"}}, kOfAscend950);
      select_keys({q,
                   k,
                   w,
                   {given(cuSeqlensQOptional), kNone},
                   {given(cuSeqlensKOptional), given(sequsedKOptional)},
                   given(cmpResidualKOptional),
                   given(blockTableOptional)},
                  {topk, maskMode, cmpRatio, layoutQ, layoutK}, returnValue != 0 && sparseValues.defined(),
                  sparseIndices, sparseValues))
ACLNN(SparseFlashMla,
      (In, q)(OptIn, oriKvOptional)(OptIn, cmpKvOptional)(OptIn, oriSparseIndicesOptional)(
          OptIn, cmpSparseIndicesOptional)(OptIn, oriBlockTableOptional)(OptIn, cmpBlockTableOptional)(
          OptIn, cuSeqlensQOptional)(OptIn, cuSeqlensOriKvOptional)(OptIn, cuSeqlensCmpKvOptional)(
          OptIn, sequsedQOptional)(OptIn, sequsedOriKvOptional)(OptIn, sequsedCmpKvOptional)(
          OptIn, cmpResidualKvOptional)(OptIn, oriTopkLengthOptional)(OptIn, cmpTopkLengthOptional)(
          OptIn, sinksOptional)(OptIn, metadataOptional)(Double, softmaxScale)(Int, cmpRatio)(Int, oriMaskMode)(
          Int, cmpMaskMode)(Int, oriWinLeft)(Int, oriWinRight)(Text, layoutQOptional)(Text, layoutKvOptional)(
          Int, topkValueMode)(Bool, returnSoftmaxLse)(Out, attnOutOut)(OptOut, softmaxLseOutOptional),
      refuse({{oriSparseIndicesOptional, "oriSparseIndices"},
              {sequsedQOptional, "sequsedQ"},
              {oriTopkLengthOptional, "oriTopkLength"},
              {cmpTopkLengthOptional, "cmpTopkLength"}});
      attend_compressed({q,
                         {given(cuSeqlensQOptional), kNone},
                         {given(oriKvOptional),
                          given(oriBlockTableOptional),
                          {given(cuSeqlensOriKvOptional), given(sequsedOriKvOptional)}},
                         {given(cmpKvOptional),
                          given(cmpBlockTableOptional),
                          {given(cuSeqlensCmpKvOptional), given(sequsedCmpKvOptional)}},
                         given(cmpSparseIndicesOptional),
                         given(cmpResidualKvOptional),
                         given(sinksOptional)},
                        {softmaxScale, cmpRatio, oriMaskMode, cmpMaskMode, oriWinLeft, oriWinRight, layoutQOptional,
                         layoutKvOptional},
                        returnSoftmaxLse&& softmaxLseOutOptional.defined(), attnOutOut, softmaxLseOutOptional))

// How a device spreads the work over its cores. There are none here: nothing reads what these write.
#define SEQUENCES                                                                                           \
  (OptIn, cuSeqlensQOptional)(OptIn, cuSeqlensKOptional)(OptIn, sequsedQOptional)(OptIn, sequsedKOptional)( \
      OptIn, cmpResidualKOptional)
#define LAYOUTS (Text, layoutQOptional)(Text, layoutKOptional)(Int, maskMode)(Int, cmpRatio)(Out, metadata)
ACLNN(LightningIndexerV2Metadata,
      SEQUENCES(Int, numHeadsQ)(Int, numHeadsK)(Int, headDim)(Int, topk)(Int, batchSize)(Int,
                                                                                         maxSeqlenQ)(Int,
                                                                                                     maxSeqlenK)LAYOUTS,
      metadata.zero_())
ACLNN(QuantLightningIndexerV2Metadata,
      SEQUENCES(Int, numHeadsQ)(Int, numHeadsK)(Int, headDim)(Int, topk)(Int, quantMode)(Int, batchSize)(
          Int, maxSeqlenQ)(Int, maxSeqlenK)LAYOUTS,
      metadata.zero_())
ACLNN(SparseLightningIndexerKLLossGradMetadata,
      SEQUENCES(Int, batchSize)(Int, maxSeqLenQ)(Int, maxSeqLenK)(Int, numHeadsQ)(Int, numHeadsK)(Int,
                                                                                                  headDim)(Int,
                                                                                                           topk)LAYOUTS,
      metadata.zero_())
ACLNN(SparseFlashMlaMetadata,
      (OptIn, cuSeqlensQOptional)(OptIn, cuSeqlensOriKvOptional)(OptIn, cuSeqlensCmpKvOptional)(
          OptIn, sequsedQOptional)(OptIn, sequsedOriKvOptional)(OptIn, sequsedCmpKvOptional)(
          OptIn, cmpResidualKvOptional)(OptIn, oriTopkLengthOptional)(OptIn, cmpTopkLengthOptional)(Int, numHeadsQ)(
          Int, numHeadsKv)(Int, headDim)(Int, batchSize)(Int, maxSeqlenQ)(Int, maxSeqlenOriKv)(Int, maxSeqlenCmpKv)(
          Int, oriTopk)(Int, cmpTopk)(Int, cmpRatio)(Int, oriMaskMode)(Int, cmpMaskMode)(Int, oriWinLeft)(
          Int, oriWinRight)(Text, layoutQOptional)(Text, layoutKvOptional)(Bool, hasOriKv)(Bool, hasCmpKv)(Out,
                                                                                                           metaData),
      metaData.zero_())

#undef SEQUENCES
#undef LAYOUTS
