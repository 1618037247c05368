// native/sparse_attention/indexer/checks.h
// Checks of operands in both lightning indexers.
#pragma once

#include "sparse_attention/lightning_indexer.h"

namespace opwright::sparse {

// Throws 161002 with the name of the parameter, what it is, and what is allowed.
Batch check_indexer(const SequenceOperands& operands, const at::Tensor& weights, const IndexerOptions& options);

// Throw 161002 for a number of keys to select that the indexer, or the quantised one, does not take.
void check_count(int64_t count);
void check_quantized_count(int64_t count);

// Throws 161002 where scores are wanted and cannot be had.
void check_return_value(bool with_values, Layout key_layout);

// Of a tensor with one number for each head of the query, or for each key.
void check_shape(const at::Tensor& tensor, at::IntArrayRef whole, const char* name);
void check_contiguous(const at::Tensor& tensor, const char* name);
void check_pages(const at::Tensor& tensor, const char* name);
void check_indices(const at::Tensor& indices, const Batch& batch, int64_t count);

}  // namespace opwright::sparse
