// native/opapi/ops/fused_infer_attention.cpp
// Attention for inference: every sequence has its own number of queries and keys, and keys may lie in pages of a cache.
// Sequence lengths and the block table's meaning come from the host; updates of captured graphs replace them.
#include <algorithm>
#include <limits>
#include <string_view>

#include "opapi/ops/attention.h"
#include "opapi/ops/max_workspace.h"

namespace {

using namespace opapi::attention;

struct Layout {
  std::string_view name, input, output;
};

constexpr Layout kLayouts[] = {
    {"BSH", "BSH", "BSH"},         {"BSND", "BSND", "BSND"},      {"BNSD", "BNSD", "BNSD"},
    {"TND", "TND", "TND"},         {"NTD", "NTD", "NTD"},         {"NSD", "NSD", "NSD"},
    {"BNSD_BSND", "BNSD", "BSND"}, {"BSH_BNSD", "BSH", "BNSD"},   {"BSND_BNSD", "BSND", "BNSD"},
    {"NTD_TND", "NTD", "TND"},     {"TND_NTD", "TND", "NTD"},     {"BSH_NBSD", "BSH", "NBSD"},
    {"BSND_NBSD", "BSND", "NBSD"}, {"BNSD_NBSD", "BNSD", "NBSD"},
};

const Layout& layout_named(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kLayouts), std::end(kLayouts), [&](const Layout& layout) { return layout.name == name; });
  if (found != std::end(kLayouts)) return *found;
  std::string names;
  for (const Layout& layout : kLayouts) names += (names.empty() ? "" : ", ") + std::string(layout.name);
  fail(ACLNN_ERR_PARAM_INVALID, "parameter 'inputLayout' is '", name, "'; it must be one of ", names);
}

bool is_packed(std::string_view form) { return form == "TND" || form == "NTD"; }

// A view as [B, N, S, D]; packed sequences lie one after the other in S.
at::Tensor by_head(const at::Tensor& tensor, std::string_view form, int64_t heads, const char* name) {
  const int64_t dims = form == "BSH" || is_packed(form) || form == "NSD" ? 3 : 4;
  require(tensor.dim() == dims, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", tensor.sizes(), "; ",
          form, " has ", dims, " dimensions");
  at::Tensor view = tensor;
  if (form == "BSH") {
    require(tensor.size(2) % heads == 0, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", tensor.sizes(),
            "; its last dimension must be a multiple of the ", heads, " heads");
    view = tensor.unflatten(2, {heads, tensor.size(2) / heads}).transpose(1, 2);
  } else if (form == "BSND") {
    view = tensor.transpose(1, 2);
  } else if (form == "NBSD") {
    view = tensor.transpose(0, 1);
  } else if (form == "TND") {
    view = tensor.transpose(0, 1).unsqueeze(0);
  } else if (form == "NTD" || form == "NSD") {
    view = tensor.unsqueeze(0);
  }
  require(view.size(1) == heads, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has ", view.size(1), " heads in ",
          form, ", but ", heads, " are declared");
  return view;
}

// ---- sequences: where the rows of each lie in [B, N, S, D]

struct Span {
  int64_t batch, start, length;
};

at::Tensor rows(const at::Tensor& heads, const Span& span) {
  return heads.narrow(0, span.batch, 1).narrow(2, span.start, span.length);
}

// From the ends of sequences that lie one after the other.
std::vector<Span> packed_spans(at::OptionalIntArrayRef ends, int64_t tokens, const char* name) {
  require(ends.has_value() && !ends->empty(), ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' is needed for packed sequences: the end of each");
  std::vector<Span> spans;
  int64_t start = 0;
  for (const int64_t end : *ends) {
    require(start <= end && end <= tokens, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is ", *ends,
            "; the ends must not decrease nor exceed the ", tokens, " tokens");
    spans.push_back({0, start, end - start});
    start = end;
  }
  return spans;
}

// One length for all, or at least one for each of `batches` sequences; all of `limit` if none is given.
std::vector<int64_t> lengths_of(at::OptionalIntArrayRef given, int64_t batches, int64_t limit, const char* name) {
  if (!given || given->empty()) return std::vector<int64_t>(batches, limit);
  const int64_t count = static_cast<int64_t>(given->size());
  require(count == 1 || count >= batches, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has ", count,
          " lengths; it must have 1, or one for each of the ", batches, " sequences");
  std::vector<int64_t> lengths;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const int64_t length = (*given)[count == 1 ? 0 : batch];
    require(0 <= length && length <= limit, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is ", *given,
            "; lengths must be between 0 and ", limit);
    lengths.push_back(length);
  }
  return lengths;
}

// From lengths of sequences that are padded to `limit` rows: behind, or, if `padding` says how much is behind, before.
std::vector<Span> padded_spans(at::OptionalIntArrayRef given, int64_t batches, int64_t limit,
                               const OptionalTensor& padding, const char* name) {
  std::vector<Span> spans;
  const bool before = padding && given && !given->empty();
  const int64_t behind = before ? std::max<int64_t>(padding->item<int64_t>(), 0) : 0;
  for (const int64_t length : lengths_of(given, batches, limit, name)) {
    const int64_t start = before ? limit - behind - length : 0;
    require(start >= 0, ACLNN_ERR_PARAM_INVALID, "a sequence of ", length, " and ", behind, " rows of padding (", name,
            ") exceed the ", limit, " rows");
    spans.push_back({static_cast<int64_t>(spans.size()), start, length});
  }
  return spans;
}

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
  at::Tensor pages = cache.index_select(0, row.narrow(0, 0, count).to(at::kLong));
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

struct Unavailable {
  const OptionalTensor& tensor;
  const char* name;
};

struct Operands {
  const at::Tensor& query;
  const std::vector<at::Tensor>&key, &value;
  const OptionalTensor &pse, &mask, &block_table, &query_padding, &key_padding, &key_prefix, &value_prefix, &query_rope,
      &key_rope, &sink;
  at::OptionalIntArrayRef query_lengths, key_lengths, prefix_length;
};

struct Options {
  int64_t heads;
  double scale;
  Sparsity sparsity;
  const std::string& layout;
  int64_t key_heads;
  int64_t page_size;
  bool wants_lse;
  int64_t pse_type = 0;
};

void check_operands(const Operands& operands, const Options& options, at::ArrayRef<Unavailable> unavailable) {
  for (const Unavailable& one : unavailable) {
    require(!one.tensor || one.tensor->numel() == 0, ACLNN_ERR_PARAM_INVALID, "parameter '", one.name,
            "' is given; quantised attention is not available");
  }
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
  require(operands.key_prefix.has_value() == operands.value_prefix.has_value(), ACLNN_ERR_PARAM_INVALID,
          "of parameters 'keySharedPrefix' and 'valueSharedPrefix' only one is given");
  require(!operands.pse || options.pse_type == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'pseType' is ", options.pse_type,
          "; available is 0");
  const bool padded = operands.query_padding || operands.key_padding;
  require(!padded || (!operands.mask && !operands.pse && !operands.block_table), ACLNN_ERR_PARAM_INVALID,
          "padding before the sequences is not available together with a mask, a position term or a block table");
  const bool joined = operands.key_prefix && (operands.block_table || padded || operands.key_rope);
  require(!joined && (!operands.key_prefix || operands.key.size() == 1), ACLNN_ERR_PARAM_INVALID,
          "a shared prefix is not available together with a block table, padding, rope or a list of keys");
}

// A mask or position term as [1 or B, 1 or N, queries, keys].
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

// What `sparseMode` asks for. For single queries without rope, the mode and the band have no effect.
Masking masking_of(const Operands& operands, const Options& options, bool packed, int64_t batches, int64_t queries) {
  Masking masking{options.sparsity, operands.mask};
  const int64_t mode = options.sparsity.mode;
  require(0 <= mode && mode <= 4, ACLNN_ERR_PARAM_INVALID, "parameter 'sparseMode' is ", mode,
          "; available are 0 to 4");
  const bool single = queries == 1 && !packed && !operands.query_rope;
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

std::vector<Span> key_spans(const Operands& operands, const Layout& layout, int64_t batches, int64_t heads) {
  constexpr const char* kName = "actualSeqLengthsKv";
  if (operands.block_table) {
    require(operands.key_lengths && !operands.key_lengths->empty(), ACLNN_ERR_PARAM_INVALID, "parameter '", kName,
            "' is needed with a block table");
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
      const int64_t limit = by_head(tensor, layout.input, heads, "key").size(2);
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
                       std::string_view form) {
  if (!prefix) return keys;
  const at::Tensor heads = by_head(*prefix, form, keys.size(1), "keySharedPrefix");
  const int64_t used = lengths_of(length, 1, heads.size(2), "actualSharedPrefixLen")[0];
  return at::cat({heads.narrow(2, 0, used), keys}, 2);
}

void attend(const Operands& operands, Options options, at::ArrayRef<Unavailable> unavailable, at::Tensor& out,
            at::Tensor& softmax_lse) {
  if (options.key_heads == 0) options.key_heads = options.heads;
  check_operands(operands, options, unavailable);
  const Layout& layout = layout_named(options.layout);
  const bool packed = is_packed(layout.input);
  const at::Tensor query = by_head(operands.query, layout.input, options.heads, "query");
  // A single query is never padding.
  const std::vector<Span> queries =
      packed ? packed_spans(operands.query_lengths, query.size(2), "actualSeqLengths")
             : padded_spans(query.size(2) == 1 ? at::OptionalIntArrayRef() : operands.query_lengths, query.size(0),
                            query.size(2), operands.query_padding, "actualSeqLengths");
  const auto batches = static_cast<int64_t>(queries.size());
  const std::vector<Span> keys = key_spans(operands, layout, batches, options.key_heads);
  require(keys.size() == queries.size(), ACLNN_ERR_PARAM_INVALID, "there are lengths of ", batches,
          " sequences of queries and ", keys.size(), " of keys");
  const Masking masking = masking_of(operands, options, packed, batches, query.size(2));
  const std::vector<at::Tensor> key_rope_list{or_undefined(operands.key_rope)};
  const Keys key{operands.key, layout.input, options.key_heads, "key"};
  const Keys value{operands.value, layout.input, options.key_heads, "value"};
  const Keys key_rope{key_rope_list, layout.input, options.key_heads, "keyRope"};

  out.zero_();  // what padding gets
  at::Tensor out_heads = by_head(out, layout.output, options.heads, "attentionOut");
  at::Tensor lse_heads;
  if (options.wants_lse) {
    softmax_lse.fill_(std::numeric_limits<float>::infinity());  // marks rows without a result
    lse_heads = packed ? by_head(softmax_lse, "TND", options.heads, "softmaxLse") : softmax_lse;
  }
  for (size_t i = 0; i < queries.size(); ++i) {
    const auto sequence = static_cast<int64_t>(i);
    const auto fetch = [&](const Keys& of) { return keys_of(of, operands.block_table, options.page_size, i, keys[i]); };
    Problem problem;
    problem.query = rows(query, queries[i]);
    problem.key = with_prefix(operands.key_prefix, operands.prefix_length, fetch(key), layout.input);
    problem.value = computed(with_prefix(operands.value_prefix, operands.prefix_length, fetch(value), layout.input));
    if (operands.query_rope) {
      const at::Tensor rope = by_head(*operands.query_rope, layout.input, options.heads, "queryRope");
      problem.query = at::cat({problem.query, rows(rope, queries[i])}, 3);
      problem.key = at::cat({problem.key, fetch(key_rope)}, 3);
    }
    problem.query = computed(problem.query);
    problem.key = computed(problem.key);
    problem.scale = options.scale;
    const int64_t query_count = problem.query.size(2), key_count = problem.key.size(2);
    OptionalTensor mask = masking.mask;
    if (mask && masking.sparsity.mode <= 1) mask = part_of(*mask, sequence, query_count, key_count, "attenMask");
    problem.hidden = hidden_keys(masking.sparsity, mask, std::nullopt, query_count, key_count);
    if (operands.pse) problem.position = part_of(*operands.pse, sequence, query_count, key_count, "pseShift");
    problem.scale_position = false;
    if (operands.sink) problem.sink = computed(*operands.sink);
    const Result result = forward(problem);
    rows(out_heads, queries[i]).copy_(result.out);
    if (lse_heads.defined()) {
      const at::Tensor lse = result.sum.log().add_(result.highest);
      rows(lse_heads, queries[i]).copy_(lse.masked_fill_(result.blind, std::numeric_limits<float>::infinity()));
    }
  }
}

const OptionalTensor kNone;

}  // namespace

// The parameters that all versions share, in their order.
#define FIRST_IN                                                                                                      \
  (In, query)(TensorList, key)(TensorList, value)(OptIn, pseShiftOptional)(OptIn, attenMaskOptional)(                 \
      OptInts, actualSeqLengthsOptional)(OptInts, actualSeqLengthsKvOptional)(OptIn, deqScale1Optional)(              \
      OptIn, quantScale1Optional)(OptIn, deqScale2Optional)(OptIn, quantScale2Optional)(OptIn, quantOffset2Optional)( \
      OptIn, antiquantScaleOptional)(OptIn, antiquantOffsetOptional)(OptIn, blockTableOptional)(                      \
      OptIn, queryPaddingSizeOptional)(OptIn, kvPaddingSizeOptional)(OptIn, keyAntiquantScaleOptional)(               \
      OptIn, keyAntiquantOffsetOptional)(OptIn, valueAntiquantScaleOptional)(OptIn, valueAntiquantOffsetOptional)(    \
      OptIn, keySharedPrefixOptional)(OptIn, valueSharedPrefixOptional)(OptInts, actualSharedPrefixLenOptional)
#define ROPE_IN (OptIn, queryRopeOptional)(OptIn, keyRopeOptional)(OptIn, keyRopeAntiquantScaleOptional)
#define SINK_IN (OptIn, dequantScaleQueryOptional)(OptIn, learnableSinkOptional)
#define STARTS (OptInts, qStartIdxOptional)(OptInts, kvStartIdxOptional)
#define ATTRIBUTES                                                                                                \
  (Int, numHeads)(Double, scaleValue)(Int, preTokens)(Int, nextTokens)(Text, inputLayout)(Int, numKeyValueHeads)( \
      Int, sparseMode)(Int, innerPrecise)(Int, blockSize)(Int, antiquantMode)(Bool, softmaxLseFlag)(              \
      Int, keyAntiquantMode)(Int, valueAntiquantMode)
#define RESULTS (Out, attentionOut)(OptOut, softmaxLse)

#define UNAVAILABLE(NAME) {NAME##Optional, #NAME}
#define FIRST_UNAVAILABLE                                                                                \
  UNAVAILABLE(deqScale1), UNAVAILABLE(quantScale1), UNAVAILABLE(deqScale2), UNAVAILABLE(quantScale2),    \
      UNAVAILABLE(quantOffset2), UNAVAILABLE(antiquantScale), UNAVAILABLE(antiquantOffset),              \
      UNAVAILABLE(keyAntiquantScale), UNAVAILABLE(keyAntiquantOffset), UNAVAILABLE(valueAntiquantScale), \
      UNAVAILABLE(valueAntiquantOffset)
#define ATTEND(QUERY_ROPE, KEY_ROPE, SINK, PSE_TYPE, ...)                                                        \
  attend({query, key, value, pseShiftOptional, attenMaskOptional, blockTableOptional, queryPaddingSizeOptional,  \
          kvPaddingSizeOptional, keySharedPrefixOptional, valueSharedPrefixOptional, QUERY_ROPE, KEY_ROPE, SINK, \
          actualSeqLengthsOptional, actualSeqLengthsKvOptional, actualSharedPrefixLenOptional},                  \
         {numHeads,                                                                                              \
          scaleValue,                                                                                            \
          {sparseMode, preTokens, nextTokens},                                                                   \
          inputLayout,                                                                                           \
          numKeyValueHeads,                                                                                      \
          blockSize,                                                                                             \
          softmaxLseFlag,                                                                                        \
          PSE_TYPE},                                                                                             \
         {__VA_ARGS__}, attentionOut, softmaxLse)

#define PARAMS_V2 FIRST_IN ATTRIBUTES RESULTS
#define PARAMS_V3 FIRST_IN ROPE_IN ATTRIBUTES RESULTS
#define PARAMS_V4 FIRST_IN ROPE_IN SINK_IN ATTRIBUTES(Int, queryQuantMode) RESULTS
#define PARAMS_V5 FIRST_IN ROPE_IN SINK_IN STARTS ATTRIBUTES(Int, queryQuantMode)(Int, pseType) RESULTS

ACLNN(FusedInferAttentionScoreV2, PARAMS_V2, ATTEND(kNone, kNone, kNone, 0, FIRST_UNAVAILABLE))
ACLNN(FusedInferAttentionScoreV3, PARAMS_V3,
      ATTEND(queryRopeOptional, keyRopeOptional, kNone, 0, FIRST_UNAVAILABLE, UNAVAILABLE(keyRopeAntiquantScale)))
ACLNN(FusedInferAttentionScoreV4, PARAMS_V4,
      ATTEND(queryRopeOptional, keyRopeOptional, learnableSinkOptional, 0, FIRST_UNAVAILABLE,
             UNAVAILABLE(keyRopeAntiquantScale), UNAVAILABLE(dequantScaleQuery)))
ACLNN(FusedInferAttentionScoreV5, PARAMS_V5,
      ATTEND(queryRopeOptional, keyRopeOptional, learnableSinkOptional, pseType, FIRST_UNAVAILABLE,
             UNAVAILABLE(keyRopeAntiquantScale), UNAVAILABLE(dequantScaleQuery)))
ACLNN_MAX_WORKSPACE(FusedInferAttentionScoreV3, PARAMS_V3)
ACLNN_MAX_WORKSPACE(FusedInferAttentionScoreV4, PARAMS_V4)
ACLNN_MAX_WORKSPACE(FusedInferAttentionScoreV5, PARAMS_V5)
