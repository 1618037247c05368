// native/sparse_attention/indexer/checks.cpp
#include "sparse_attention/indexer/checks.h"

#include "aclnn/acl_meta.h"
#include "sparse_attention/indexer/kernels.h"

namespace opwright::sparse {

namespace {

constexpr int64_t kMostCount = 2048;
constexpr int64_t kCountStep = 1024;  // beyond, where scores are not quantised
constexpr int64_t kHighestCount = 8192;

void check_not_empty(const at::Tensor& tensor, const char* name) {
  require(tensor.numel() > 0, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", tensor.sizes(),
          "; every dimension must be greater than 0");
}

}  // namespace

void check_count(int64_t count) {
  const bool large = count % kCountStep == 0 && count <= kHighestCount;
  require(0 < count && (count <= kMostCount || large), ACLNN_ERR_PARAM_INVALID, "parameter 'sparse_count' is ", count,
          "; it must be 1 to 2048, 3072, 4096, 5120, 6144, 7168 or 8192");
}

void check_quantized_count(int64_t count) {
  require(0 < count && count <= kMostCount, ACLNN_ERR_PARAM_INVALID, "parameter 'sparse_count' is ", count,
          "; it must be 1 to ", kMostCount);
}

void check_return_value(bool with_values, Layout key_layout) {
  require(!with_values || key_layout != Layout::kPaged, ACLNN_ERR_PARAM_INVALID,
          "parameter 'return_value' is True; with parameter 'layout_key' PA_BSND it must be False");
}

void check_shape(const at::Tensor& tensor, at::IntArrayRef whole, const char* name) {
  const at::IntArrayRef shape = whole.slice(0, whole.size() - 1);
  require(tensor.sizes() == shape, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", tensor.sizes(),
          "; it must be ", shape);
}

void check_contiguous(const at::Tensor& tensor, const char* name) {
  require(tensor.is_contiguous(), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has strides ", tensor.strides(),
          " for shape ", tensor.sizes(), "; it must be contiguous");
}

void check_pages(const at::Tensor& tensor, const char* name) {
  require(tensor.select(0, 0).is_contiguous(), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has strides ",
          tensor.strides(), " for shape ", tensor.sizes(), "; all dimensions but the first must be contiguous");
}

void check_indices(const at::Tensor& indices, const Batch& batch, int64_t count) {
  require(indices.scalar_type() == at::kInt && indices.numel() == batch.query_rows * count, ACLNN_ERR_PARAM_INVALID,
          "parameter 'sparse_indices' is ", indices.scalar_type(), indices.sizes(), "; it must be int32 with ",
          batch.query_rows, " x ", count, " elements");
}

Batch check_indexer(const SequenceOperands& operands, const at::Tensor& weights, const IndexerOptions& options) {
  const at::Tensor &query = operands.query, &key = operands.key;
  require(key.scalar_type() == query.scalar_type(), ACLNN_ERR_PARAM_INVALID, "parameter 'key' has dtype ",
          key.scalar_type(), "; it must be that of parameter 'query', ", query.scalar_type());
  check_not_empty(query, "query");
  check_not_empty(key, "key");
  require_sparse_mode(options.sparse_mode);
  Batch batch = read_batch(operands);
  require(query.size(-1) == kHeadSize && key.size(-1) == kHeadSize, ACLNN_ERR_PARAM_INVALID,
          "parameters 'query' and 'key' have heads of ", query.size(-1), " and ", key.size(-1), "; they must have ",
          kHeadSize);
  require(query.size(-2) <= kMostHeads, ACLNN_ERR_PARAM_INVALID, "parameter 'query' has ", query.size(-2),
          " heads; it must have 1 to ", kMostHeads);
  require(key.size(-2) == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'key' has ", key.size(-2), " heads; it must have 1");
  check_shape(weights, query.sizes(), "weights");
  check_contiguous(query, "query");
  check_contiguous(weights, "weights");
  check_pages(key, "key");
  return batch;
}

}  // namespace opwright::sparse
