// native/opapi/ops/attention/nsa_attention.h
// Shared by both kinds of native sparse attention (NSA): operands of packed sequences, and of single queries with
// keys in pages.
#pragma once

#include "opapi/ops/attention/sequences.h"
#include "opapi/ops/common/refusal.h"

namespace opwright::opapi::attention::nsa {

struct Lengths {
  at::OptionalIntArrayRef queries, keys;
};

// Shared by the functions for inference: sequences of one query each, and keys in pages, [pages, size, H] or [pages,
// size, N, D].
struct PagedOptions {
  const std::string& layout;
  int64_t heads, key_heads, page_size;
};
#define PAGED {layoutOptional, numHeads, numKeyValueHeads, pageBlockSize}

inline std::vector<Span> spans_of(at::OptionalIntArrayRef ends, const at::Tensor& tokens, const char* name) {
  return packed_spans(ends, tokens.size(0), name);
}

inline void check_packed(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, int64_t heads,
                         const std::string& layout) {
  require(layout == "TND", ACLNN_ERR_PARAM_INVALID, "parameter 'inputLayout' is '", layout, "'; it must be TND");
  require(query.dim() == 3 && key.dim() == 3 && value.dim() == 3 && query.size(1) == heads && key.size(1) > 0 &&
              heads % key.size(1) == 0 && key.size(2) == query.size(2) && value.size(1) == key.size(1) &&
              value.size(0) == key.size(0),
          ACLNN_ERR_PARAM_INVALID, "query, key and value have shapes ", query.sizes(), ", ", key.sizes(), " and ",
          value.sizes(), "; they must be [T, ", heads, ", D], [T, N, D] and [T, N, Dv], ", heads, " a multiple of N");
}

// The query of each sequence, [B, N, D].
inline at::Tensor one_query_each(const at::Tensor& query, const PagedOptions& options) {
  const std::string& layout = options.layout;
  require(layout.empty() || layout == "BSND" || layout == "BSH" || layout == "TND", ACLNN_ERR_PARAM_INVALID,
          "parameter 'layout' is '", layout, "'; it must be BSND, BSH or TND");
  if (layout == "TND") return query;
  require(query.dim() == (layout == "BSH" ? 3 : 4) && query.size(1) == 1, ACLNN_ERR_PARAM_INVALID,
          "parameter 'query' has shape ", query.sizes(), "; available is one query for each sequence");
  return query.reshape({query.size(0), options.heads, -1});
}

// The tokens of a sequence, [length, N, D].
inline at::Tensor from_pages(const at::Tensor& cache, const at::Tensor& table, int64_t sequence, int64_t length,
                             const PagedOptions& options, const char* name) {
  require(cache.dim() >= 3 && cache.size(1) == options.page_size && options.page_size > 0, ACLNN_ERR_PARAM_INVALID,
          "parameter '", name, "' has shape ", cache.sizes(), "; it must be [pages, ", options.page_size, ", ...]");
  const int64_t pages = (length + options.page_size - 1) / options.page_size;
  require(table.dim() == 2 && sequence < table.size(0) && pages <= table.size(1), ACLNN_ERR_PARAM_INVALID,
          "parameter 'blockTable' has shape ", table.sizes(), "; sequence ", sequence, " needs ", pages, " pages");
  const at::Tensor tokens = cache.index_select(0, table.select(0, sequence).narrow(0, 0, pages)).flatten(0, 1);
  return tokens.narrow(0, 0, length).reshape({length, options.key_heads, -1});
}

inline void check_paged(const OptionalTensor& table, const Lengths& lengths, const at::Tensor& queries,
                        const PagedOptions& options) {
  require(table.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'blockTable' is needed");
  const auto count = static_cast<size_t>(queries.size(0));
  require(lengths.keys && lengths.keys->size() == count, ACLNN_ERR_PARAM_INVALID, "there are ",
          lengths.keys ? lengths.keys->size() : 0, " lengths of keys for ", count, " queries");
  const at::IntArrayRef each = lengths.queries.value_or(at::IntArrayRef());
  require(each.empty() || each.equals(std::vector<int64_t>(count, 1)), ACLNN_ERR_PARAM_INVALID,
          "parameter 'actualQSeqLen' is ", each, "; available is one query for each of ", count,
          " sequences: no lengths, or a 1 for each");
  require(options.key_heads > 0 && options.heads % options.key_heads == 0 && queries.size(1) == options.heads,
          ACLNN_ERR_PARAM_INVALID, "parameter 'numHeads' is ", options.heads, " for ", queries.size(1),
          " heads of the query; it must be a multiple of 'numKeyValueHeads', ", options.key_heads);
}

}  // namespace opwright::opapi::attention::nsa
