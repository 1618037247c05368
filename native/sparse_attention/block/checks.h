// native/sparse_attention/block/checks.h
// Checks of the operands of npu_sparse_attention_pto.
#pragma once

#include "sparse_attention/sizes.h"
#include "sparse_attention/sparse_attention_block.h"

namespace opwright::sparse {

constexpr int64_t kNope = 128;   // columns of a head's query without positions
constexpr int64_t kIndex = 128;  // columns of an index key

struct BlockSizes {
  int64_t batch, count;  // sequences, and new tokens of each
  int64_t hidden, rank;
  int64_t heads, index_heads;
  int64_t pages, page_size;

  int64_t rows() const { return batch * count; }
};

// Throws 161002 for tensors that do not fit together, and for lengths, pages and cache rows out of range.
BlockSizes check_block(const SparseAttentionBlockOperands& operands, const SparseAttentionBlockOptions& options,
                       const at::Tensor& out);

}  // namespace opwright::sparse
