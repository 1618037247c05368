// native/sparse_attention/indexer/lightning_indexer.cpp
#include "sparse_attention/lightning_indexer.h"

#include <ATen/ops/empty_like.h>

#include "aclnn/acl_meta.h"
#include "sparse_attention/indexer/checks.h"
#include "sparse_attention/indexer/scan.h"

namespace opwright::sparse {

namespace {

void check_dtypes(const IndexerOperands& operands) {
  const at::ScalarType dtype = operands.query.scalar_type();
  require(dtype == at::kHalf || dtype == at::kBFloat16, ACLNN_ERR_PARAM_INVALID, "parameter 'query' has dtype ", dtype,
          "; it must be float16 or bfloat16");
  const at::ScalarType weights = operands.weights.scalar_type();
  require(weights == dtype || weights == at::kFloat, ACLNN_ERR_PARAM_INVALID, "parameter 'weights' has dtype ", weights,
          "; it must be that of parameter 'query', ", dtype, ", or float32");
}

void check_values(const IndexerOperands& operands, const at::Tensor& indices, const at::Tensor& values) {
  require(values.scalar_type() == operands.query.scalar_type() && values.sizes() == indices.sizes(),
          ACLNN_ERR_PARAM_INVALID, "parameter 'sparse_values' is ", values.scalar_type(), values.sizes(),
          "; it must be ", operands.query.scalar_type(), indices.sizes());
}

}  // namespace

void lightning_indexer(const IndexerOperands& operands, const IndexerOptions& options, at::Tensor& indices,
                       at::Tensor* values) {
  check_dtypes(operands);
  check_count(options.count);
  const SequenceOperands sequences{operands.query,       operands.key,         operands.query_lengths,
                                   operands.key_lengths, operands.block_table, options.query_layout,
                                   options.key_layout};
  const Batch batch = check_indexer(sequences, operands.weights, options);
  check_indices(indices, batch, options.count);
  check_return_value(values != nullptr, batch.key_layout);
  if (values != nullptr) check_values(operands, indices, *values);

  const KeyType type = operands.query.scalar_type() == at::kHalf ? KeyType::kHalf : KeyType::kBfloat16;
  const at::Tensor weights = operands.weights.to(at::kFloat);
  at::Tensor found = indices.contiguous();
  at::Tensor scores = values == nullptr ? at::Tensor() : values->contiguous();
  scan({batch, type, operands.query, operands.key, weights, nullptr, options.count, options.sparse_mode},
       {found, values == nullptr ? nullptr : &scores});
  if (!indices.is_same(found)) indices.copy_(found);
  if (values != nullptr && !values->is_same(scores)) values->copy_(scores);
}

}  // namespace opwright::sparse
