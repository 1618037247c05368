// native/opapi/ops/attention/compressed_attention.cpp
// Attention to the tokens of a window and to compressed keys, each of which stands for `ratio` tokens; and the choice
// of compressed keys by an indexer. MlaKeys are values too. In float32, a sequence at a time.
#include <limits>

#include "opapi/ops/common/low_precision.h"
#include "opapi/ops/common/precision.h"
#include "opapi/ops/common/refusal.h"
#include "opapi/ops/common/refused.h"

namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

// Where the tokens of a sequence are in a tensor [B, S, N, D], [T, N, D] or [pages, page size, N, D].
struct TokenPlace {
  int64_t first, count;
};

// Callers leave them out as null or as empty tensors.
struct TokenLengths {
  OptionalTensor ends, used;  // ends begin with 0
};

std::vector<int64_t> on_host(const at::Tensor& tensor) {
  const at::Tensor numbers = tensor.to(at::kLong).contiguous();
  return {numbers.const_data_ptr<int64_t>(), numbers.const_data_ptr<int64_t>() + numbers.numel()};
}

bool is_paged(const std::string& layout) { return layout == "PA_BBND"; }
bool is_of_tokens(const std::string& layout) { return layout == "TND"; }

void require_layouts(const std::string& query, const std::string& key) {
  require((query == "BSND" || query == "TND") && (key == query || is_paged(key)), ACLNN_ERR_PARAM_INVALID,
          "the layouts are '", query, "' and '", key, "'; allowed: BSND or TND for both, or PA_BBND for keys");
}

std::vector<TokenPlace> places_of(const at::Tensor& tensor, const std::string& layout, const TokenLengths& lengths,
                                  const char* name) {
  std::vector<TokenPlace> places;
  require(tensor.dim() == (is_of_tokens(layout) ? 3 : 4), ACLNN_ERR_PARAM_INVALID, name, " has the shape ",
          tensor.sizes(), "; it does not fit layout ", layout);
  if (is_of_tokens(layout)) {
    require(lengths.ends && lengths.ends->numel() >= 1, ACLNN_ERR_PARAM_NULLPTR, "the sums of lengths of ", name,
            " are needed in layout TND");
    const std::vector<int64_t> ends = on_host(*lengths.ends);
    for (size_t i = 0; i + 1 < ends.size(); ++i) places.push_back({ends[i], ends[i + 1] - ends[i]});
  } else if (!is_paged(layout)) {
    places.assign(static_cast<size_t>(tensor.size(0)), {0, tensor.size(1)});
  }
  require(lengths.used || !is_paged(layout), ACLNN_ERR_PARAM_NULLPTR, "the lengths of ", name,
          " are needed in layout PA_BBND");
  if (lengths.used) {
    const std::vector<int64_t> used = on_host(*lengths.used);
    if (is_paged(layout)) places.assign(used.size(), {0, std::numeric_limits<int64_t>::max()});
    require(used.size() == places.size(), ACLNN_ERR_PARAM_INVALID, "there are ", used.size(), " lengths of ", name,
            " for ", places.size(), " sequences");
    for (size_t i = 0; i < used.size(); ++i) places[i].count = std::min(places[i].count, used[i]);
  }
  const int64_t room = is_of_tokens(layout) ? tensor.size(0) : std::numeric_limits<int64_t>::max();
  for (const TokenPlace& place : places) {
    require(place.first >= 0 && place.count >= 0 && place.first + place.count <= room, ACLNN_ERR_PARAM_INVALID,
            "a sequence of ", name, " begins at ", place.first, " and has ", place.count, " tokens; there are ", room);
  }
  return places;
}

// The tokens of sequence i, [count, N, D].
at::Tensor tokens_of(const at::Tensor& tensor, const std::string& layout, const OptionalTensor& table,
                     const TokenPlace& place, size_t i, const char* name) {
  const auto sequence = static_cast<int64_t>(i);
  if (is_of_tokens(layout)) return tensor.narrow(0, place.first, place.count);
  if (!is_paged(layout)) return tensor.select(0, sequence).narrow(0, 0, place.count);
  require(table && table->dim() == 2 && sequence < table->size(0), ACLNN_ERR_PARAM_INVALID, "the block table of ", name,
          " does not fit; it must be [sequences, blocks]");
  require(tensor.size(1) > 0, ACLNN_ERR_PARAM_INVALID, name, " has pages of no tokens");
  const int64_t pages = (place.count + tensor.size(1) - 1) / tensor.size(1);
  require(pages <= table->size(1), ACLNN_ERR_PARAM_INVALID, name, " needs ", pages,
          " pages for a sequence; the block table has ", table->size(1));
  const at::Tensor numbers = table->select(0, sequence).narrow(0, 0, pages).to(at::kLong);
  return tensor.index_select(0, numbers).flatten(0, 1).narrow(0, 0, place.count);
}

// Of an output laid out as queries, the rows of sequence i.
at::Tensor rows_for(const at::Tensor& out, const std::string& layout, const TokenPlace& place, size_t i) {
  return is_of_tokens(layout) ? out.narrow(0, place.first, place.count)
                              : out.select(0, static_cast<int64_t>(i)).narrow(0, 0, place.count);
}

enum TokenMask : int64_t { kEverything = 0, kCausal = 3, kBand = 4 };

// For each of `rows` queries that end with the last of `tokens`, how many tokens it sees, [rows, 1].
at::Tensor seen_tokens(int64_t rows, int64_t tokens, int64_t mode) {
  if (mode == kEverything) return at::full({rows, 1}, tokens, at::kLong);
  return at::arange(tokens - rows + 1, tokens + 1, at::kLong).unsqueeze(1);
}

// Which of `count` compressed keys lie before those ends, [rows, count].
at::Tensor visible_keys(const at::Tensor& ends, int64_t ratio, int64_t count) {
  return at::arange(count, at::kLong).unsqueeze(0) < ends.div(ratio, "floor");
}

// The number of tokens before the compression.
int64_t tokens_before(const OptionalTensor& residual, size_t i, int64_t keys, int64_t ratio, int64_t otherwise) {
  return residual ? keys * ratio + on_host(*residual).at(i) : otherwise;
}

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

struct MlaKeys {
  OptionalTensor keys, table;
  TokenLengths lengths;
};

struct MlaInputs {
  const at::Tensor& query;
  TokenLengths queries;
  MlaKeys original, compressed;
  OptionalTensor chosen, residual, sinks;
};

struct MlaSettings {
  double scale;
  int64_t ratio, original_mode, compressed_mode, left, right;
  const std::string &query_layout, &key_layout;
};

void check(const MlaInputs& inputs, const MlaSettings& settings) {
  require_layouts(settings.query_layout, settings.key_layout);
  require(inputs.original.keys.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'oriKv' is null");
  require(inputs.sinks.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'sinks' is null");
  require(!inputs.chosen || inputs.compressed.keys, ACLNN_ERR_PARAM_NULLPTR,
          "parameter 'cmpKv' is null, but 'cmpSparseIndices' names its keys");
  require(settings.original_mode == kEverything || settings.original_mode == kCausal || settings.original_mode == kBand,
          ACLNN_ERR_PARAM_INVALID, "oriMaskMode is ", settings.original_mode, "; allowed: 0, 3, 4");
  require(settings.compressed_mode == kEverything || settings.compressed_mode == kCausal, ACLNN_ERR_PARAM_INVALID,
          "cmpMaskMode is ", settings.compressed_mode, "; allowed: 0, 3");
  require(settings.ratio > 0 && settings.left >= -1 && settings.right >= -1, ACLNN_ERR_PARAM_INVALID,
          "cmpRatio, oriWinLeft and oriWinRight are ", settings.ratio, ", ", settings.left, ", ", settings.right,
          "; allowed: positive, and from -1 on");
}

at::Tensor token_window(int64_t rows, int64_t tokens, const MlaSettings& settings) {
  const at::Tensor numbers = at::arange(tokens, at::kLong).unsqueeze(0);
  const at::Tensor ends = seen_tokens(rows, tokens, settings.original_mode);
  if (settings.original_mode != kBand) return numbers < ends;
  at::Tensor seen = at::ones({rows, tokens}, at::kBool);
  if (settings.right >= 0) seen.logical_and_(numbers < ends + settings.right);
  if (settings.left >= 0) seen.logical_and_(numbers >= ends - settings.left - 1);
  return seen;
}

// Which compressed keys each query sees: all before its end, or those of them that are chosen.
at::Tensor seen_compressed(const MlaInputs& inputs, const MlaSettings& settings, const TokenPlace& queries, size_t i,
                           int64_t keys, int64_t tokens) {
  const int64_t before = tokens_before(inputs.residual, i, keys, settings.ratio, tokens);
  const at::Tensor visible =
      visible_keys(seen_tokens(queries.count, before, settings.compressed_mode), settings.ratio, keys);
  if (!inputs.chosen) return visible;
  const at::Tensor index = rows_for(*inputs.chosen, settings.query_layout, queries, i).select(1, 0).to(at::kLong);
  const at::Tensor there = (index >= 0).logical_and(index < keys);
  const at::Tensor marks = at::zeros({queries.count, keys + 1}, at::kBool);
  marks.scatter_(1, index.masked_fill(there.logical_not(), keys), true);
  return marks.narrow(1, 0, keys).logical_and(visible);
}

void attend_compressed(const MlaInputs& inputs, const MlaSettings& settings, bool wants_lse, at::Tensor& out,
                       at::Tensor& lse) {
  check(inputs, settings);
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
