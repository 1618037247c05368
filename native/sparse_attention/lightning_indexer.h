// native/sparse_attention/lightning_indexer.h
// For each query, the keys that matter most:
//
//   score[j] = sum over heads h of weights[h] * max(0, query[h] . key[j])      in float32, j visible to the query
//   indices  = the `count` highest, ties by the lower j; -1 where fewer are visible
//
// Scores exist for a block of keys at a time only.
#pragma once

#include "runtime/error.h"
#include "sparse_attention/tokens.h"

namespace opwright::sparse {

struct IndexerOperands {
  const at::Tensor& query;    // [B, S, N, 128] or [T, N, 128], float16 or bfloat16
  const at::Tensor& key;      // [B, S, 1, 128], [T, 1, 128] or [pages, page size, 1, 128], of the query's dtype
  const at::Tensor& weights;  // [B, S, N] or [T, N], of the query's dtype or float32
  const OptionalTensor &query_lengths, &key_lengths, &block_table;
};

struct IndexerOptions {
  const std::string &query_layout, &key_layout;
  int64_t count = 2048;
  int64_t sparse_mode = 3;  // 0: a query sees all keys; 3: causal, aligned to the end
};

// Writes int32 [B, S, 1, count] or [T, 1, count], and, where `values` is not null, the scores in the query's dtype,
// padded with -inf. Throws 161002 for what is not allowed.
OPWRIGHT_API void lightning_indexer(const IndexerOperands& operands, const IndexerOptions& options, at::Tensor& indices,
                                    at::Tensor* values);

struct QuantizedIndexerOperands {
  const at::Tensor& query;    // int8 or float8_e4m3fn; shapes as above
  const at::Tensor& key;      // the query's dtype
  const at::Tensor& weights;  // float16, or bfloat16 with float8
  const at::Tensor &query_scale, &key_scale;
  const OptionalTensor &query_lengths, &key_lengths, &block_table;
};

// The same with quantised queries and keys, which have a scale for each token and head.
OPWRIGHT_API void quant_lightning_indexer(const QuantizedIndexerOperands& operands, const IndexerOptions& options,
                                          at::Tensor& indices);

}  // namespace opwright::sparse
