// native/opapi/ops/attention/fused_infer_attention.cpp
// Attention for inference: every sequence has its own number of queries and keys, and keys may lie in pages of a cache.
// Sequence lengths and the block table's meaning come from the host; updates of captured graphs replace them.
#include <limits>

#include "opapi/ops/attention/inference_attention.h"
#include "opapi/ops/attention/sequences.h"
#include "opapi/ops/common/max_workspace.h"

namespace opwright::opapi::attention::inference {

namespace {

// ---- keys and values

// The first `length` tokens of a sequence whose pages are listed in a row of the block table, as [1, N, length, D].
// A cache is [pages, page size, H], [pages, N, page size, D], or in blocks [pages, N, D / block, page size, block].
at::Tensor from_pages(const at::Tensor& cache, const at::Tensor& row, int64_t length, int64_t heads, int64_t page_size,
                      const char* name) {
  const int64_t size_dim = cache.dim() == 3 ? 1 : cache.dim() == 4 ? 2 : 3;
  require(3 <= cache.dim() && cache.dim() <= 5 && cache.size(size_dim) == page_size &&
              (cache.dim() == 3 ? cache.size(2) % heads == 0 : cache.size(1) == heads),
          ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", cache.sizes(), "; with ", heads,
          " heads and blocks of ", page_size,
          " tokens it must be [blocks, size, H], [blocks, N, size, D] or [blocks, N, D / 16, size, 16]");
  const int64_t count = (length + page_size - 1) / page_size;
  require(count <= row.size(0), ACLNN_ERR_PARAM_INVALID, "a sequence of ", length, " tokens needs ", count,
          " blocks, but blockTable has ", row.size(0), " for each");
  const at::Tensor numbers = row.narrow(0, 0, count).to(at::kLong);
  if (count > 0) {
    const auto [lowest, highest] = numbers.aminmax();
    require(lowest.item<int64_t>() >= 0 && highest.item<int64_t>() < cache.size(0), ACLNN_ERR_PARAM_INVALID,
            "parameter 'blockTable' names blocks from ", lowest.item<int64_t>(), " to ", highest.item<int64_t>(),
            " for a sequence of ", length, " tokens, but '", name, "' has ", cache.size(0));
  }
  at::Tensor pages = cache.index_select(0, numbers);
  if (cache.dim() == 3) pages = pages.unflatten(2, {heads, cache.size(2) / heads}).transpose(1, 2);
  if (cache.dim() == 5) pages = pages.permute({0, 1, 3, 2, 4}).flatten(3);
  return pages.transpose(0, 1).flatten(1, 2).narrow(1, 0, length).unsqueeze(0);
}

struct Keys {
  const std::vector<at::Tensor>& tensors;  // one for all sequences, or one for each
  std::string_view form;
  int64_t heads;
  const char* name;
};

at::Tensor keys_of(const Keys& keys, const OptionalTensor& block_table, int64_t page_size, size_t sequence, Span span) {
  if (block_table) {
    return from_pages(keys.tensors[0], block_table->select(0, static_cast<int64_t>(sequence)), span.length, keys.heads,
                      page_size, keys.name);
  }
  const bool listed = keys.tensors.size() > 1;
  if (listed) span.batch = 0;
  return rows(by_head(keys.tensors[listed ? sequence : 0], keys.form, keys.heads, keys.name), span);
}

// ---- the operator

void check_operands(const Operands& operands, const Options& options) {
  const at::ScalarType dtype = operands.query.scalar_type();
  require(kind::is_half(dtype), ACLNN_ERR_PARAM_INVALID, "parameter 'query' has dtype ", dtype,
          "; it must be float16 or bfloat16");
  require(!operands.key.empty() && operands.key.size() == operands.value.size(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'key' has ", operands.key.size(), " tensors, 'value' has ", operands.value.size());
  for (const auto* list : {&operands.key, &operands.value}) {
    for (const at::Tensor& tensor : *list) {
      require(tensor.defined() && tensor.scalar_type() == dtype, ACLNN_ERR_PARAM_INVALID,
              "key and value must have the query's dtype ", dtype, "; quantised attention is not available");
    }
  }
  require(options.heads > 0 && options.key_heads > 0 && options.heads % options.key_heads == 0, ACLNN_ERR_PARAM_INVALID,
          "parameter 'numHeads' is ", options.heads,
          "; it must be a positive multiple of 'numKeyValueHeads', which is ", options.key_heads);
  require(operands.query_rope.has_value() == operands.key_rope.has_value(), ACLNN_ERR_PARAM_INVALID,
          "of parameters 'queryRope' and 'keyRope' only one is given");
  for (const auto* one : {&operands.query_rope, &operands.key_rope, &operands.key_prefix, &operands.value_prefix}) {
    require(!*one || (*one)->scalar_type() == dtype, ACLNN_ERR_PARAM_INVALID,
            "rope and shared prefixes must have the query's dtype ", dtype);
  }
  require(operands.key_prefix.has_value() == operands.value_prefix.has_value(), ACLNN_ERR_PARAM_INVALID,
          "of parameters 'keySharedPrefix' and 'valueSharedPrefix' only one is given");
  require(!operands.pse || operands.pse->dim() == 4, ACLNN_ERR_PARAM_INVALID, "parameter 'pseShift' has shape ",
          operands.pse ? operands.pse->sizes() : at::IntArrayRef(), "; it must have 4 dimensions");
  require(!operands.pse || options.pse_type == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'pseType' is ", options.pse_type,
          "; available is 0");
  const bool padded = operands.query_padding || operands.key_padding;
  require(!padded || (!operands.mask && !operands.pse && !operands.block_table), ACLNN_ERR_PARAM_INVALID,
          "padding before the sequences is not available together with a mask, a position term or a block table");
  const bool joined = operands.key_prefix && (operands.block_table || padded || operands.key_rope);
  require(!joined && (!operands.key_prefix || operands.key.size() == 1), ACLNN_ERR_PARAM_INVALID,
          "a shared prefix is not available together with a block table, padding, rope or a list of keys");
}

// A mask as [1 or B, 1, queries, keys].
at::Tensor four_dims(const at::Tensor& tensor, int64_t batches, int64_t queries) {
  if (tensor.dim() == 4) return tensor;
  if (tensor.dim() == 3) return tensor.unsqueeze(1);
  require(tensor.dim() == 2, ACLNN_ERR_PARAM_INVALID, "parameter 'attenMask' has shape ", tensor.sizes(),
          "; it must have 2 to 4 dimensions");
  if (queries == 1 && tensor.size(0) == batches) return tensor.unsqueeze(1).unsqueeze(1);
  return tensor.unsqueeze(0).unsqueeze(0);
}

// The part of a mask or position term that belongs to a sequence; callers may give more rows and columns than needed.
at::Tensor part_of(const at::Tensor& tensor, int64_t sequence, int64_t queries, int64_t keys, const char* name) {
  require(tensor.size(0) == 1 || sequence < tensor.size(0), ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' has shape ", tensor.sizes(), ", too small for ", sequence + 1, " sequences");
  require(tensor.size(2) >= queries && tensor.size(3) >= keys, ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' has shape ", tensor.sizes(), ", too small for ", queries, " queries and ", keys, " keys");
  return tensor.narrow(0, tensor.size(0) == 1 ? 0 : sequence, 1).narrow(2, 0, queries).narrow(3, 0, keys);
}

struct Masking {
  Sparsity sparsity;
  OptionalTensor mask;
};

// The masking for `sparseMode`. For single queries without rope, the mode and the band have no effect.
Masking masking_of(const Operands& operands, const Options& options, bool packed, int64_t batches, int64_t queries) {
  Masking masking{options.sparsity, operands.mask};
  const int64_t mode = options.sparsity.mode;
  require(0 <= mode && mode <= 4, ACLNN_ERR_PARAM_INVALID, "parameter 'sparseMode' is ", mode,
          "; available are 0 to 4");
  const bool single = options.decodes && queries == 1 && !packed && !operands.query_rope;
  if (single) masking.sparsity.mode = 1;
  if (single || mode <= 1) {
    require(single || mode == 0 || operands.mask, ACLNN_ERR_PARAM_INVALID,
            "parameter 'attenMask' is null; sparse mode 1 needs it");
    if (operands.mask) masking.mask = four_dims(*operands.mask, batches, queries);
    return masking;
  }
  constexpr int64_t kCompressed = 2048;
  require(operands.mask && operands.mask->dim() >= 2 && operands.mask->size(-1) == kCompressed &&
              operands.mask->size(-2) == kCompressed,
          ACLNN_ERR_PARAM_INVALID, "parameter 'attenMask' is ", operands.mask ? "of another shape" : "null",
          "; sparse mode ", mode, " needs the ", kCompressed, " x ", kCompressed, " matrix");
  return masking;
}

std::vector<Span> key_spans(const Operands& operands, const Layout& layout, int64_t batches, int64_t heads,
                            int64_t page_size) {
  constexpr const char* kName = "actualSeqLengthsKv";
  if (operands.block_table) {
    require(operands.key_lengths && !operands.key_lengths->empty(), ACLNN_ERR_PARAM_INVALID, "parameter '", kName,
            "' is needed with a block table");
    require(page_size > 0, ACLNN_ERR_PARAM_INVALID, "parameter 'blockSize' is ", page_size,
            "; with a block table it must be positive");
    require(operands.key.size() == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'key' has ", operands.key.size(),
            " tensors; with a block table it must have 1");
    require(at::isIntegralType(operands.block_table->scalar_type(), /*includeBool=*/false), ACLNN_ERR_PARAM_INVALID,
            "parameter 'blockTable' has dtype ", operands.block_table->scalar_type(), "; it must be an integer type");
    require(operands.block_table->dim() == 2 && operands.block_table->size(0) >= batches, ACLNN_ERR_PARAM_INVALID,
            "parameter 'blockTable' has shape ", operands.block_table->sizes(), "; it must be [", batches,
            " sequences, blocks]");
    return padded_spans(operands.key_lengths, batches, std::numeric_limits<int32_t>::max(), std::nullopt, kName);
  }
  if (operands.key.size() > 1) {
    require(!is_packed(layout.input) && static_cast<int64_t>(operands.key.size()) == batches, ACLNN_ERR_PARAM_INVALID,
            "parameter 'key' has ", operands.key.size(), " tensors for ", batches, " sequences in ", layout.input);
    std::vector<Span> spans;
    for (const at::Tensor& tensor : operands.key) {
      const at::Tensor key = by_head(tensor, layout.input, heads, "key");
      require(key.size(0) == 1, ACLNN_ERR_PARAM_INVALID, "a tensor of the list 'key' has ", key.size(0),
              " sequences; each must have 1");
      const int64_t limit = key.size(2);
      const auto batch = static_cast<int64_t>(spans.size());
      spans.push_back({batch, 0, lengths_of(operands.key_lengths, batches, limit, kName)[batch]});
    }
    return spans;
  }
  const at::Tensor key = by_head(operands.key[0], layout.input, heads, "key");
  if (is_packed(layout.input)) return packed_spans(operands.key_lengths, key.size(2), kName);
  require(key.size(0) == batches, ACLNN_ERR_PARAM_INVALID, "the query has ", batches, " sequences, the key ",
          key.size(0));
  return padded_spans(operands.key_lengths, batches, key.size(2), operands.key_padding, kName);
}

// The shared prefix, in front of a sequence's keys or values.
at::Tensor with_prefix(const OptionalTensor& prefix, at::OptionalIntArrayRef length, const at::Tensor& keys,
                       std::string_view form, const char* name) {
  if (!prefix) return keys;
  const at::Tensor heads = by_head(*prefix, form, keys.size(1), name);
  const int64_t used = lengths_of(length, 1, heads.size(2), "actualSharedPrefixLen")[0];
  return at::cat({heads.narrow(2, 0, used), keys}, 2);
}

// Everything that the sequences share; tensors are views by head.
struct Call {
  const Operands& operands;
  const Options& options;
  std::string_view form;
  at::Tensor query;
  std::vector<Span> queries, keys;
  Masking masking;
};

std::vector<Span> query_spans(const Operands& operands, const Options& options, const at::Tensor& query, bool packed) {
  constexpr const char* kName = "actualSeqLengths";
  if (packed) return packed_spans(operands.query_lengths, query.size(2), kName);
  // A single query is never padding.
  const bool single = options.decodes && query.size(2) == 1;
  const auto lengths = single ? at::OptionalIntArrayRef() : operands.query_lengths;
  return padded_spans(lengths, query.size(0), query.size(2), operands.query_padding, kName);
}

Call call_of(const Operands& operands, const Options& options, const Layout& layout) {
  const bool packed = is_packed(layout.input);
  const at::Tensor query = by_head(operands.query, layout.input, options.heads, "query");
  std::vector<Span> queries = query_spans(operands, options, query, packed);
  const auto batches = static_cast<int64_t>(queries.size());
  std::vector<Span> keys = key_spans(operands, layout, batches, options.key_heads, options.page_size);
  require(keys.size() == queries.size(), ACLNN_ERR_PARAM_INVALID, "there are lengths of ", batches,
          " sequences of queries and ", keys.size(), " of keys");
  Masking masking = masking_of(operands, options, packed, batches, query.size(2));
  return {operands, options, layout.input, query, std::move(queries), std::move(keys), std::move(masking)};
}

Problem problem_of(const Call& call, size_t i) {
  const Operands& operands = call.operands;
  const Options& options = call.options;
  const auto fetch = [&](const std::vector<at::Tensor>& tensors, const char* name) {
    const Keys keys{tensors, call.form, options.key_heads, name};
    return keys_of(keys, operands.block_table, options.page_size, i, call.keys[i]);
  };
  Problem problem;
  problem.query = rows(call.query, call.queries[i]);
  problem.key = with_prefix(operands.key_prefix, operands.prefix_length, fetch(operands.key, "key"), call.form,
                            "keySharedPrefix");
  problem.value = with_prefix(operands.value_prefix, operands.prefix_length, fetch(operands.value, "value"), call.form,
                              "valueSharedPrefix");
  if (operands.query_rope) {
    const at::Tensor rope = by_head(*operands.query_rope, call.form, options.heads, "queryRope");
    problem.query = at::cat({problem.query, rows(rope, call.queries[i])}, 3);
    problem.key = at::cat({problem.key, fetch({*operands.key_rope}, "keyRope")}, 3);
  }
  require(problem.query.size(3) == problem.key.size(3) && problem.key.size(2) == problem.value.size(2),
          ACLNN_ERR_PARAM_INVALID, "query and key have heads of ", problem.query.size(3), " and ", problem.key.size(3),
          ", key and value ", problem.key.size(2), " and ", problem.value.size(2), " tokens; each must be equal");
  for (at::Tensor* tensor : {&problem.query, &problem.key, &problem.value}) *tensor = widened(*tensor);
  problem.scale = options.scale;
  const int64_t queries = problem.query.size(2), keys = problem.key.size(2);
  const auto sequence = static_cast<int64_t>(i);
  OptionalTensor mask = call.masking.mask;
  if (mask && call.masking.sparsity.mode <= 1) mask = part_of(*mask, sequence, queries, keys, "attenMask");
  problem.hidden = hidden_keys(call.masking.sparsity, mask, std::nullopt, queries, keys);
  if (operands.pse) problem.position = part_of(*operands.pse, sequence, queries, keys, "pseShift");
  problem.scale_position = false;
  if (operands.sink) problem.sink = widened(*operands.sink);
  return problem;
}

// [B, N, S, 1]; what it is for sequences that are packed is a matter of its shape.
at::Tensor lse_of(const Call& call, at::Tensor& softmax_lse) {
  const int64_t heads = call.options.heads;
  const at::Tensor view = is_packed(call.form) ? by_head(softmax_lse, "TND", heads, "softmaxLse") : softmax_lse;
  at::DimVector shape(call.query.sizes());
  shape[3] = 1;
  require(view.sizes() == shape, ACLNN_ERR_PARAM_INVALID, "parameter 'softmaxLse' has shape ", softmax_lse.sizes(),
          is_packed(call.form) ? "; it must be [T, N, 1], here of " : "; it must be [B, N, S, 1], here of ",
          call.query.size(2), " rows and ", heads, " heads");
  return view;
}

}  // namespace

void attend(const Operands& operands, Options options, std::initializer_list<NamedTensor> unavailable, at::Tensor& out,
            at::Tensor& softmax_lse) {
  constexpr float kNoResult = std::numeric_limits<float>::infinity();
  if (options.key_heads == 0) options.key_heads = options.heads;
  refuse(unavailable, "quantised attention is not available");
  check_operands(operands, options);
  const Layout& layout = layout_named(options.layout);
  const Call call = call_of(operands, options, layout);
  out.zero_();  // what padding gets
  at::Tensor out_heads = by_head(out, layout.output, options.heads, "attentionOut");
  require(out_heads.sizes().slice(0, 3) == call.query.sizes().slice(0, 3), ACLNN_ERR_PARAM_INVALID,
          "parameter 'attentionOut' has shape ", out.sizes(), ", that is ", out_heads.size(0), " x ", out_heads.size(2),
          " rows in ", layout.output, "; the query has ", call.query.size(0), " x ", call.query.size(2));
  at::Tensor lse_heads;
  if (options.wants_lse) {
    lse_heads = lse_of(call, softmax_lse);
    softmax_lse.fill_(kNoResult);
  }
  for (size_t i = 0; i < call.queries.size(); ++i) {
    const Result result = forward(problem_of(call, i));
    require(out_heads.size(3) == result.out.size(3), ACLNN_ERR_PARAM_INVALID, "parameter 'attentionOut' has shape ",
            out.sizes(), " with heads of ", out_heads.size(3), "; the value's heads have ", result.out.size(3));
    rows(out_heads, call.queries[i]).copy_(result.out);
    if (!lse_heads.defined()) continue;
    const at::Tensor lse = result.sum.log().add_(result.highest).masked_fill_(result.blind, kNoResult);
    rows(lse_heads, call.queries[i]).copy_(lse);
  }
}

}  // namespace opwright::opapi::attention::inference

namespace {

using opapi::attention::inference::attend;

}  // namespace

// The parameters that all versions share, in their order.
#define FIRST_IN                                                                                                      \
  (In, query)(TensorList, key)(TensorList, value)(OptIn, pseShiftOptional)(OptIn, attenMaskOptional)(                 \
      OptInts, actualSeqLengthsOptional)(OptInts, actualSeqLengthsKvOptional)(OptIn, deqScale1Optional)(              \
      OptIn, quantScale1Optional)(OptIn, deqScale2Optional)(OptIn, quantScale2Optional)(OptIn, quantOffset2Optional)( \
      OptIn, antiquantScaleOptional)(OptIn, antiquantOffsetOptional)(OptIn, blockTableOptional)(                      \
      OptIn, queryPaddingSizeOptional)(OptIn, kvPaddingSizeOptional)
#define PREFIX_IN                                                                                             \
  (OptIn, keyAntiquantScaleOptional)(OptIn, keyAntiquantOffsetOptional)(OptIn, valueAntiquantScaleOptional)(  \
      OptIn, valueAntiquantOffsetOptional)(OptIn, keySharedPrefixOptional)(OptIn, valueSharedPrefixOptional)( \
      OptInts, actualSharedPrefixLenOptional)
#define ROPE_IN (OptIn, queryRopeOptional)(OptIn, keyRopeOptional)(OptIn, keyRopeAntiquantScaleOptional)
#define SINK_IN (OptIn, dequantScaleQueryOptional)(OptIn, learnableSinkOptional)
#define STARTS (OptInts, qStartIdxOptional)(OptInts, kvStartIdxOptional)
#define FIRST_ATTRIBUTES                                                                                          \
  (Int, numHeads)(Double, scaleValue)(Int, preTokens)(Int, nextTokens)(Text, inputLayout)(Int, numKeyValueHeads)( \
      Int, sparseMode)(Int, innerPrecise)(Int, blockSize)(Int, antiquantMode)(Bool, softmaxLseFlag)
#define ATTRIBUTES FIRST_ATTRIBUTES(Int, keyAntiquantMode)(Int, valueAntiquantMode)
#define RESULTS (Out, attentionOut)(OptOut, softmaxLse)

#define UNAVAILABLE(NAME) {NAME##Optional, #NAME}
#define FIRST_UNAVAILABLE                                                                             \
  UNAVAILABLE(deqScale1), UNAVAILABLE(quantScale1), UNAVAILABLE(deqScale2), UNAVAILABLE(quantScale2), \
      UNAVAILABLE(quantOffset2), UNAVAILABLE(antiquantScale), UNAVAILABLE(antiquantOffset)
#define PREFIX_UNAVAILABLE                                                            \
  FIRST_UNAVAILABLE, UNAVAILABLE(keyAntiquantScale), UNAVAILABLE(keyAntiquantOffset), \
      UNAVAILABLE(valueAntiquantScale), UNAVAILABLE(valueAntiquantOffset)
#define ROPE_UNAVAILABLE PREFIX_UNAVAILABLE, UNAVAILABLE(keyRopeAntiquantScale)
#define SINK_UNAVAILABLE ROPE_UNAVAILABLE, UNAVAILABLE(dequantScaleQuery)
#define ATTEND_WITH(KEY_PREFIX, VALUE_PREFIX, PREFIX_LENGTH, QUERY_ROPE, KEY_ROPE, SINK, PSE_TYPE, ...)          \
  attend({query, key, value, pseShiftOptional, attenMaskOptional, blockTableOptional, queryPaddingSizeOptional,  \
          kvPaddingSizeOptional, KEY_PREFIX, VALUE_PREFIX, QUERY_ROPE, KEY_ROPE, SINK, actualSeqLengthsOptional, \
          actualSeqLengthsKvOptional, PREFIX_LENGTH},                                                            \
         {numHeads,                                                                                              \
          scaleValue,                                                                                            \
          {sparseMode, preTokens, nextTokens},                                                                   \
          inputLayout,                                                                                           \
          numKeyValueHeads,                                                                                      \
          blockSize,                                                                                             \
          softmaxLseFlag,                                                                                        \
          PSE_TYPE},                                                                                             \
         {__VA_ARGS__}, attentionOut, softmaxLse)
#define ATTEND(...) \
  ATTEND_WITH(keySharedPrefixOptional, valueSharedPrefixOptional, actualSharedPrefixLenOptional, __VA_ARGS__)

#define PARAMS_V2 FIRST_IN PREFIX_IN ATTRIBUTES RESULTS
#define PARAMS_V3 FIRST_IN PREFIX_IN ROPE_IN ATTRIBUTES RESULTS
#define PARAMS_V4 FIRST_IN PREFIX_IN ROPE_IN SINK_IN ATTRIBUTES(Int, queryQuantMode) RESULTS
#define PARAMS_V5 FIRST_IN PREFIX_IN ROPE_IN SINK_IN STARTS ATTRIBUTES(Int, queryQuantMode)(Int, pseType) RESULTS

ACLNN(FusedInferAttentionScore, FIRST_IN FIRST_ATTRIBUTES RESULTS,
      ATTEND_WITH(kNone, kNone, std::nullopt, kNone, kNone, kNone, 0, FIRST_UNAVAILABLE))
ACLNN(FusedInferAttentionScoreV2, PARAMS_V2, ATTEND(kNone, kNone, kNone, 0, PREFIX_UNAVAILABLE))
ACLNN(FusedInferAttentionScoreV3, PARAMS_V3, ATTEND(queryRopeOptional, keyRopeOptional, kNone, 0, ROPE_UNAVAILABLE))
ACLNN(FusedInferAttentionScoreV4, PARAMS_V4,
      ATTEND(queryRopeOptional, keyRopeOptional, learnableSinkOptional, 0, SINK_UNAVAILABLE))
ACLNN(FusedInferAttentionScoreV5, PARAMS_V5,
      ATTEND(queryRopeOptional, keyRopeOptional, learnableSinkOptional, pseType, SINK_UNAVAILABLE))
ACLNN_MAX_WORKSPACE(FusedInferAttentionScoreV3, PARAMS_V3)
ACLNN_MAX_WORKSPACE(FusedInferAttentionScoreV4, PARAMS_V4)
ACLNN_MAX_WORKSPACE(FusedInferAttentionScoreV5, PARAMS_V5)

#undef FIRST_IN
#undef PREFIX_IN
#undef ROPE_IN
#undef SINK_IN
#undef STARTS
#undef FIRST_ATTRIBUTES
#undef ATTRIBUTES
#undef RESULTS
#undef UNAVAILABLE
#undef FIRST_UNAVAILABLE
#undef PREFIX_UNAVAILABLE
#undef ROPE_UNAVAILABLE
#undef SINK_UNAVAILABLE
#undef ATTEND_WITH
#undef ATTEND
#undef PARAMS_V2
#undef PARAMS_V3
#undef PARAMS_V4
#undef PARAMS_V5
