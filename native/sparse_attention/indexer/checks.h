// native/sparse_attention/indexer/checks.h
// What both lightning indexers ask of their operands.
#pragma once

#include "sparse_attention/lightning_indexer.h"

namespace opwright::sparse {

// Throws 161002 with the name of the parameter, what it is, and what is allowed.
Batch check_indexer(const SequenceOperands& operands, const at::Tensor& weights, const IndexerOptions& options);

// Of a tensor with one number for each head of the query, or for each key.
void check_shape(const at::Tensor& tensor, at::IntArrayRef whole, const char* name);
void check_contiguous(const at::Tensor& tensor, const char* name);
void check_pages(const at::Tensor& tensor, const char* name);
void check_indices(const at::Tensor& indices, const Batch& batch, int64_t count);

}  // namespace opwright::sparse
