// native/sparse_attention/indexer/quant_lightning_indexer.cpp
// int8: weights times the queries' scales, and each product divided by 1024, are rounded to float16. float8: scores are
// rounded to bfloat16 before they are compared.
#include "aclnn/acl_meta.h"
#include "sparse_attention/indexer/checks.h"
#include "sparse_attention/indexer/scan.h"
#include "sparse_attention/lightning_indexer.h"

namespace opwright::sparse {

namespace {

void check_dtypes(const QuantizedIndexerOperands& operands) {
  const at::ScalarType dtype = operands.query.scalar_type();
  const bool floats = dtype == at::kFloat8_e4m3fn;
  require(floats || dtype == at::kChar, ACLNN_ERR_PARAM_INVALID, "parameter 'query' has dtype ", dtype,
          "; it must be int8 or float8_e4m3fn");
  const at::ScalarType weights = operands.weights.scalar_type();
  require(weights == at::kHalf || (floats && weights == at::kBFloat16), ACLNN_ERR_PARAM_INVALID,
          "parameter 'weights' has dtype ", weights, "; it must be float16", floats ? " or bfloat16" : "");
  const at::ScalarType scale = weights == at::kHalf ? at::kHalf : at::kFloat;
  const auto check_scale = [&](const at::Tensor& tensor, const char* name) {
    require(tensor.scalar_type() == scale, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has dtype ",
            tensor.scalar_type(), "; with weights of ", weights, " it must be ", scale);
  };
  check_scale(operands.query_scale, "query_dequant_scale");
  check_scale(operands.key_scale, "key_dequant_scale");
}

}  // namespace

void quant_lightning_indexer(const QuantizedIndexerOperands& operands, const IndexerOptions& options,
                             at::Tensor& indices) {
  check_dtypes(operands);
  check_quantized_count(options.count);
  const SequenceOperands sequences{operands.query,       operands.key,         operands.query_lengths,
                                   operands.key_lengths, operands.block_table, options.query_layout,
                                   options.key_layout};
  const Batch batch = check_indexer(sequences, operands.weights, options);
  check_shape(operands.query_scale, operands.query.sizes(), "query_dequant_scale");
  check_shape(operands.key_scale, operands.key.sizes(), "key_dequant_scale");
  check_contiguous(operands.query_scale, "query_dequant_scale");
  check_pages(operands.key_scale, "key_dequant_scale");
  check_indices(indices, batch, options.count);

  const bool floats = operands.query.scalar_type() == at::kFloat8_e4m3fn;
  at::Tensor weights = operands.weights.to(at::kFloat).mul_(operands.query_scale.to(at::kFloat));
  if (!floats) weights = weights.to(at::kHalf).to(at::kFloat);
  const KeyScale scale{operands.key_scale, floats};
  at::Tensor found = indices.contiguous();
  scan({batch, floats ? KeyType::kFloat8 : KeyType::kInt8, operands.query, operands.key, weights, &scale, options.count,
        options.sparse_mode},
       {found, nullptr});
  if (!indices.is_same(found)) indices.copy_(found);
}

}  // namespace opwright::sparse
