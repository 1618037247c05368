// native/sparse_attention/sparse_flash_attention.h
// Attention of each query to the keys that `sparse_indices` names for it, with keys whose first 512 columns are also
// the values (MLA, absorbed):
//
//   s[j] = scale * (query . key[j] + query_rope . key_rope[j])     in float32, j named and visible
//   out  = softmax(s) value
//
// Selected keys are gathered a tile at a time.
#pragma once

#include "runtime/error.h"
#include "sparse_attention/tokens.h"

namespace opwright::sparse {

struct SparseAttentionOperands {
  const at::Tensor& query;    // [B, S, N, 512] or [T, N, 512], float16 or bfloat16
  const at::Tensor& key;      // [B, S, 1, 512], [T, 1, 512] or [pages, page size, 1, 512]
  const at::Tensor& value;    // as the key, often the same memory
  const at::Tensor& indices;  // int32 [B, S, 1, K] or [T, 1, K]: blocks of tokens, then -1
  const OptionalTensor &block_table, &query_lengths, &key_lengths, &query_rope, &key_rope, &sinks;
};

struct SparseAttentionOptions {
  double scale;
  int64_t block_size = 1;  // tokens of a block that an index names
  const std::string &query_layout, &key_layout;
  int64_t sparse_mode = 3;  // as for the indexer
};

// Of each query's softmax, float32 [B, 1, S, N] or [1, T, N]; null pointers if not wanted.
struct Statistics {
  at::Tensor *highest = nullptr, *sum = nullptr;
};

// Writes `out`, of the query's shape and dtype; rows without keys are 0. Throws 161002 for what is not allowed.
OPWRIGHT_API void sparse_flash_attention(const SparseAttentionOperands& operands, const SparseAttentionOptions& options,
                                         at::Tensor& out, const Statistics& statistics);

struct QuantizedSparseAttentionOperands {
  const at::Tensor& query;  // [..., 576]: 512 columns, and 64 of the rope part
  const at::Tensor& key;    // int8 or float8_e4m3fn, 656 bytes a token: 512 values, 64 of the query's dtype, 4 scales
  const at::Tensor& value;
  const at::Tensor& indices;
  const OptionalTensor &block_table, &query_lengths, &key_lengths, &sinks;
};

// The same with a quantised cache; `out` has 512 columns.
OPWRIGHT_API void kv_quant_sparse_flash_attention(const QuantizedSparseAttentionOperands& operands,
                                                  const SparseAttentionOptions& options, at::Tensor& out);

}  // namespace opwright::sparse
