// native/sparse_attention/attention/checks.cpp
#include "sparse_attention/attention/checks.h"

#include "aclnn/acl_meta.h"
#include "sparse_attention/sizes.h"

namespace opwright::sparse {

namespace {

constexpr int64_t kMostAttentionHeads = 128;
constexpr int64_t kMostBlock = 128;

}  // namespace

void require_query(const at::Tensor& query, int64_t columns) {
  require(query.scalar_type() == at::kHalf || query.scalar_type() == at::kBFloat16, ACLNN_ERR_PARAM_INVALID,
          "parameter 'query' has dtype ", query.scalar_type(), "; it must be float16 or bfloat16");
  const int64_t dims = query.dim();
  require((dims == 3 || dims == 4) && query.size(-1) == columns, ACLNN_ERR_PARAM_INVALID,
          "parameter 'query' has shape ", query.sizes(), "; it must be [B, S, N, ", columns, "] or [T, N, ", columns,
          "]");
  require(1 <= query.size(-2) && query.size(-2) <= kMostAttentionHeads, ACLNN_ERR_PARAM_INVALID,
          "parameter 'query' has ", query.size(-2), " heads; there must be 1 to ", kMostAttentionHeads);
}

void require_options(const SparseAttentionOptions& options, const Batch& batch, const at::Tensor& key) {
  require_sparse_mode(options.sparse_mode);
  const int64_t block = options.block_size;
  require(0 < block && block <= kMostBlock && (block & (block - 1)) == 0, ACLNN_ERR_PARAM_INVALID,
          "parameter 'sparse_block_size' is ", block, "; it must be a power of two from 1 to ", kMostBlock);
  require(batch.key_layout != Layout::kPaged || key.size(1) % block == 0, ACLNN_ERR_PARAM_INVALID,
          "parameter 'sparse_block_size' is ", block, "; in layout PA_BSND it must divide the size of a page, ",
          key.size(1));
}

at::Tensor checked_indices(const at::Tensor& indices, const at::Tensor& query) {
  at::DimVector rows(query.sizes().slice(0, query.dim() - 2));
  const bool fits = indices.dim() == query.dim() && indices.sizes().slice(0, rows.size()) == at::IntArrayRef(rows) &&
                    indices.size(-2) == 1 && indices.size(-1) > 0;
  rows.push_back(1);
  require(fits && indices.scalar_type() == at::kInt, ACLNN_ERR_PARAM_INVALID, "parameter 'sparse_indices' is ",
          indices.scalar_type(), indices.sizes(), "; it must be int32 of shape ", at::IntArrayRef(rows),
          " with a last dimension K > 0: what each query selects");
  return indices.contiguous().view({-1, indices.size(-1)});
}

at::Tensor checked_sinks(const OptionalTensor& sinks, const at::Tensor& query) {
  if (!sinks) return {};
  require(sinks->scalar_type() == at::kFloat && sinks->dim() == 1 && sinks->size(0) == query.size(-2),
          ACLNN_ERR_PARAM_INVALID, "parameter 'sinks' is ", sinks->scalar_type(), sinks->sizes(),
          "; it must be float32 [", query.size(-2), "], one for each head of the query");
  return sinks->contiguous();
}

at::Tensor checked_cache(const at::Tensor& cache, const char* name, const at::Tensor& key, int64_t columns) {
  at::DimVector shape(key.sizes());
  shape.back() = columns;
  shape[shape.size() - 2] = 1;
  require(cache.sizes() == at::IntArrayRef(shape), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ",
          cache.sizes(), "; it must be ", at::IntArrayRef(shape), ": one head of ", columns, " columns");
  require(cache.stride(-1) == 1, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has strides ", cache.strides(),
          "; columns must lie one after the other (only pages and sequences may lie apart)");
  return cache;
}

void require_out(const at::Tensor& out, const at::Tensor& query) {
  at::DimVector shape(query.sizes());
  shape.back() = kLatent;
  require(out.sizes() == at::IntArrayRef(shape) && out.scalar_type() == query.scalar_type(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'attention_out' is ", out.scalar_type(), out.sizes(), "; it must be ", query.scalar_type(),
          at::IntArrayRef(shape));
}

}  // namespace opwright::sparse
