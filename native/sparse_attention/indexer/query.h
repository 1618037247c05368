// native/sparse_attention/indexer/query.h
// Query rows and their weights, arranged for a score kernel.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "sparse_attention/indexer/kernels.h"
#include "sparse_attention/indexer/scan.h"

namespace opwright::sparse {

class QueryRows {
 public:
  // Memory for `rows`.
  QueryRows(const ScoreKernel& kernel, const IndexerScan& scan, int64_t rows);

  void load(int64_t first, int64_t rows);
  PackedQuery row(int64_t index) const;

 private:
  void pack(const char* heads, int32_t* out) const;

  const ScoreKernel& kernel_;
  const IndexerScan& scan_;
  int64_t heads_;
  int64_t padded_;  // heads
  int64_t words_;   // of 4 bytes, in a row
  at::Tensor values_, start_, weights_;
  std::vector<char> converted_;
};

}  // namespace opwright::sparse
