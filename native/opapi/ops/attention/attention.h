// native/opapi/ops/attention/attention.h
// Shared by the attention tables: the computation on heads, [B, N, S, D], and the masks that are described by
// position.
//   out = dropout(softmax(mask(scale * query key^T + position))) value
// B batch, N heads, S sequence, D head dimension; T tokens of several sequences, one after the other.
#pragma once

#include "opapi/ops/common/precision.h"

namespace opwright::opapi::attention {

struct Problem {
  at::Tensor query, key, value;  // widened; each head of key and value serves as many heads of query as there are more
  double scale = 1;
  at::Tensor hidden;           // true where a score does not count; undefined if every score counts
  int64_t clear = 0;           // the first so many keys are known not to be hidden
  at::Tensor position;         // added to the scores; undefined if there is none
  bool scale_position = true;  // whether it is added before the scale
  at::Tensor sink;             // one extra score per head that takes probability and gives no value, or undefined
  at::Tensor drop;             // what dropout multiplies each probability with, or undefined
};

struct Result {
  at::Tensor out;
  at::Tensor highest, sum;  // of each row's scores, [B, N, S, 1]; 0 and 1 for a row that sees nothing
  at::Tensor blind;         // the rows that see nothing; their result is 0
};

struct Gradients {
  at::Tensor query, key, value;
  at::Tensor position;  // as large as the scores; undefined if there is no position term
  at::Tensor sink;
};

OPWRIGHT_API Result forward(const Problem& problem);
Gradients backward(const Problem& problem, const at::Tensor& grad, const at::Tensor& highest, const at::Tensor& sum);

struct Sparsity {
  int64_t mode;
  int64_t pre_tokens;
  int64_t next_tokens;
};

// True where a score does not count; undefined if every score counts, as without `mask` in any mode. The compressed
// modes (2, 3, 4, 6) describe the mask by position, so the contents of their matrix are not needed; `prefix` is what
// every query sees in mode 6, and broadcasts to [B, N, S, keys].
at::Tensor hidden_keys(const Sparsity& sparsity, const OptionalTensor& mask, const OptionalTensor& prefix,
                       int64_t queries, int64_t keys);

// The factors for dropout, 1 / keep_prob or 0, from one bit per score, lowest bit first.
at::Tensor dropout_factors(const at::Tensor& bits, int64_t first_bit, at::IntArrayRef scores, double keep_prob);

}  // namespace opwright::opapi::attention
