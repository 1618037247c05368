// native/sparse_attention/gradients.h
// Gradients of the lightning indexer's scores and of attention to selected keys, for keys that are not paged.
//
// In float32, one query at a time on ATen's products: for training of small models and for tests.
#pragma once

#include "runtime/error.h"
#include "sparse_attention/tokens.h"

namespace opwright::sparse {

// Shapes are those of the forward functions; gradients have the shapes and dtypes of their operands.
struct IndexerGradOperands {
  const at::Tensor &query, &key, &weights;
  const at::Tensor& grad;     // of the scores
  const at::Tensor& indices;  // as selected
  const OptionalTensor &query_lengths, &key_lengths;
};

struct IndexerGradients {
  at::Tensor &query, &key, &weights;
};

// Throws 161002 for what is not allowed.
OPWRIGHT_API void lightning_indexer_grad(const IndexerGradOperands& operands, const std::string& layout,
                                         const IndexerGradients& gradients);

struct AttentionGradOperands {
  const at::Tensor &query, &key;
  const OptionalTensor& value;  // absent: the key
  const at::Tensor &indices, &grad, &out;
  const at::Tensor &highest, &sum;  // the softmax's, as forward answered them
  const OptionalTensor &query_lengths, &key_lengths, &query_rope, &key_rope;
};

struct AttentionGradOptions {
  double scale;
  int64_t block_size;
  const std::string& layout;
  int64_t sparse_mode;
};

// Those of parts that are absent are null.
struct AttentionGradients {
  at::Tensor &query, &key;
  at::Tensor *value, *query_rope, *key_rope;
};

OPWRIGHT_API void sparse_flash_attention_grad(const AttentionGradOperands& operands,
                                              const AttentionGradOptions& options, const AttentionGradients& gradients);

}  // namespace opwright::sparse
