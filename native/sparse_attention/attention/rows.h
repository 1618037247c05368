// native/sparse_attention/attention/rows.h
// Attention to selected tokens, whatever the cache is made of: it divides rows and heads among threads and
// walks the tokens that a row selects.
#pragma once

#include <functional>

#include "sparse_attention/attention/kernels.h"
#include "sparse_attention/sparse_flash_attention.h"

namespace opwright::sparse {

// Of one sequence: where its tokens lie. A cache that is not of the query's dtype is decoded a tile at a time.
struct TokenSource {
  Rows keys, values;
  std::optional<Rows> ropes;
  std::optional<Code> code;  // of a quantised cache, whose tokens are in `keys`
};

struct AttentionProblem {
  const Batch& batch;
  at::Tensor query;       // [rows, N, >= 512], the last dimension contiguous
  at::Tensor query_rope;  // [rows, N, 64], may be undefined
  at::Tensor indices;     // int32 [rows, K]
  at::Tensor sinks;       // float32 [N], may be undefined
  const SparseAttentionOptions& options;
  std::vector<TokenSource> sources;  // of each sequence
};

// `out`, [rows, N, 512], and `statistics`, [rows, N] of float32, are contiguous; rows of no sequence become 0.
void attend_rows(const AttentionProblem& problem, at::Tensor& out, const Statistics& statistics);

}  // namespace opwright::sparse
