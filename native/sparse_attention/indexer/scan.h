// native/sparse_attention/indexer/scan.h
// Shared by both lightning indexers: score the keys that each query sees, block by block, and keep the best.
#pragma once

#include <ATen/core/Tensor.h>

#include "sparse_attention/indexer/kernels.h"
#include "sparse_attention/tokens.h"

namespace opwright::sparse {

// Scales of quantised keys; `tensor` has the keys' layout without their last dimension.
struct KeyScale {
  const at::Tensor& tensor;
  bool round_scores;  // to bfloat16, before they are compared
};

struct IndexerScan {
  const Batch& batch;
  KeyType type;
  const at::Tensor& query;  // contiguous
  const at::Tensor& key;
  const at::Tensor& weights;  // float32 [query rows, heads], contiguous
  const KeyScale* key_scale;  // or null
  int64_t count;
  int64_t sparse_mode;
};

// Where the results go: contiguous int32 [query rows, count]; of scores float16 or bfloat16, if not null.
struct IndexerResults {
  at::Tensor& indices;
  at::Tensor* values;
};

void scan(const IndexerScan& scan, const IndexerResults& results);

}  // namespace opwright::sparse
