// native/sparse_attention/block/checks.cpp
#include "sparse_attention/block/checks.h"

#include <initializer_list>

#include "aclnn/acl_meta.h"
#include "sparse_attention/tokens.h"

namespace opwright::sparse {

namespace {

constexpr int64_t kNzBlock = 16;
constexpr int64_t kMostBlockHeads = 128;
constexpr int64_t kMostIndexHeads = 64;
// The vendor's host checks.
constexpr int64_t kVendorBatch = 4;
constexpr int64_t kVendorCount = 2;
constexpr int64_t kVendorPages = 1024;  // of a sequence

void require_rank(const at::Tensor& tensor, const char* name, int64_t rank) {
  require(tensor.dim() == rank, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", tensor.sizes(),
          "; it must have ", rank, " dimensions");
}

void require_like(const at::Tensor& tensor, const char* name, at::ScalarType dtype, at::IntArrayRef sizes) {
  require(tensor.scalar_type() == dtype && tensor.sizes() == sizes, ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' is ", tensor.scalar_type(), tensor.sizes(), "; it must be ", dtype, sizes);
}

void require_between(int64_t value, int64_t low, int64_t high, const char* name, const char* what) {
  require(low <= value && value <= high, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has ", value, " ", what,
          "; it must be between ", low, " and ", high);
}

void require_blocks(int64_t value, const char* name, const char* what) {
  require(value > 0 && value % kNzBlock == 0, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has ", value, " ", what,
          "; it must be a multiple of ", kNzBlock, ", the side of a block of FRACTAL_NZ");
}

BlockSizes read_sizes(const SparseAttentionBlockOperands& operands) {
  require_rank(operands.x, "x", 3);
  require_rank(operands.w_dq, "w_dq", 2);
  require_rank(operands.w_uk, "w_uk", 3);
  require_rank(operands.w_idx_proj, "w_idx_proj", 2);
  require_rank(operands.kv_cache, "kv_cache", 4);
  const BlockSizes sizes{operands.x.size(0),        operands.x.size(1),       operands.x.size(2),
                         operands.w_dq.size(1),     operands.w_uk.size(0),    operands.w_idx_proj.size(1),
                         operands.kv_cache.size(0), operands.kv_cache.size(1)};
  require(sizes.rows() > 0, ACLNN_ERR_PARAM_INVALID, "parameter 'x' has shape ", operands.x.sizes(),
          "; it must have at least one token");
  require_blocks(sizes.hidden, "x", "columns");
  require_blocks(sizes.rank, "w_dq", "columns");
  require_blocks(sizes.index_heads, "w_idx_proj", "columns");
  require_between(sizes.index_heads, kNzBlock, kMostIndexHeads, "w_idx_proj", "columns");
  require_between(sizes.heads, 1, kMostBlockHeads, "w_uk", "heads");
  require(sizes.pages > 0, ACLNN_ERR_PARAM_INVALID, "parameter 'kv_cache' has no pages; it must have at least one");
  require_page_size(sizes.page_size, "kv_cache");
  return sizes;
}

void check_shapes(const SparseAttentionBlockOperands& operands, const BlockSizes& sizes, const at::Tensor& out) {
  struct Row {
    const at::Tensor& tensor;
    const char* name;
    at::ScalarType dtype;
    std::initializer_list<int64_t> sizes;
  };
  constexpr auto kBf16 = at::kBFloat16;
  const auto& [batch, count, hidden, rank, heads, index_heads, pages, page_size] = sizes;
  for (const Row& row : {
           Row{operands.x, "x", kBf16, {batch, count, hidden}},
           Row{operands.w_dq, "w_dq", kBf16, {hidden, rank}},
           Row{operands.w_uq_qr, "w_uq_qr", kBf16, {rank, heads * (kNope + kRope)}},
           Row{operands.w_uk, "w_uk", kBf16, {heads, kNope, kLatent}},
           Row{operands.w_dkv_kr, "w_dkv_kr", kBf16, {hidden, kLatent + kRope}},
           Row{operands.gamma_cq, "gamma_cq", kBf16, {rank}},
           Row{operands.gamma_ckv, "gamma_ckv", kBf16, {kLatent}},
           Row{operands.sin, "sin", kBf16, {batch, count, kRope}},
           Row{operands.cos, "cos", kBf16, {batch, count, kRope}},
           Row{operands.cache_index, "cache_index", at::kInt, {batch, count}},
           Row{operands.kv_cache, "kv_cache", kBf16, {pages, page_size, 1, kLatent}},
           Row{operands.kr_cache, "kr_cache", kBf16, {pages, page_size, 1, kRope}},
           Row{operands.act_seqs, "act_seqs", at::kInt, {batch}},
           Row{operands.w_idx_qb, "w_idx_qb", kBf16, {rank, index_heads * kIndex}},
           Row{operands.w_idx_k, "w_idx_k", kBf16, {hidden, kIndex}},
           Row{operands.w_idx_proj, "w_idx_proj", kBf16, {hidden, index_heads}},
           Row{operands.in_gamma_k, "in_gamma_k", kBf16, {kIndex}},
           Row{operands.in_beta_k, "in_beta_k", kBf16, {kIndex}},
           Row{operands.index_k_cache, "index_k_cache", kBf16, {pages, page_size, 1, kIndex}},
           Row{out, "out", kBf16, {batch, count, heads, kLatent}},
       }) {
    require_like(row.tensor, row.name, row.dtype, row.sizes);
  }
}

void check_memory(const SparseAttentionBlockOperands& operands, const at::Tensor& out) {
  struct Row {
    const at::Tensor& tensor;
    const char* name;
  };
  for (const Row& row : {Row{operands.w_dq, "w_dq"}, Row{operands.w_uq_qr, "w_uq_qr"}, Row{operands.w_uk, "w_uk"},
                         Row{operands.w_dkv_kr, "w_dkv_kr"}, Row{operands.w_idx_qb, "w_idx_qb"},
                         Row{operands.w_idx_k, "w_idx_k"}, Row{operands.w_idx_proj, "w_idx_proj"}}) {
    require(row.tensor.is_contiguous(), ACLNN_ERR_PARAM_INVALID, "parameter '", row.name, "' has strides ",
            row.tensor.strides(), "; weights must be contiguous");
  }
  require(out.is_contiguous(), ACLNN_ERR_PARAM_INVALID, "parameter 'out' has strides ", out.strides(),
          "; it must be contiguous");
  for (const Row& row : {Row{operands.kv_cache, "kv_cache"}, Row{operands.kr_cache, "kr_cache"},
                         Row{operands.index_k_cache, "index_k_cache"}}) {
    const at::Tensor& cache = row.tensor;
    require(cache.select(0, 0).is_contiguous(), ACLNN_ERR_PARAM_INVALID, "parameter '", row.name, "' has strides ",
            cache.strides(), "; a page must be contiguous, only pages may lie apart");
  }
}

void check_cache_rows(const at::Tensor& cache_index, const BlockSizes& sizes) {
  const at::Tensor rows = cache_index.contiguous();
  const auto* values = rows.const_data_ptr<int32_t>();
  const int64_t limit = sizes.pages * sizes.page_size;
  for (int64_t i = 0; i < sizes.rows(); ++i) {
    require(0 <= values[i] && values[i] < limit, ACLNN_ERR_PARAM_INVALID, "parameter 'cache_index' has ", values[i],
            " at [", i / sizes.count, ", ", i % sizes.count, "]; rows of the caches are between 0 and ", limit - 1);
  }
}

void check_vendor_limits(const SparseAttentionBlockOperands& operands, const BlockSizes& sizes) {
  require(sizes.batch == kVendorBatch, ACLNN_ERR_PARAM_INVALID, "parameter 'x' has ", sizes.batch,
          " sequences; it must have ", kVendorBatch, " (vendor's limit)");
  require_between(sizes.count, 1, kVendorCount, "x", "new tokens of a sequence (vendor's limit)");
  require_between(sizes.pages, 1, kVendorBatch * kVendorPages, "kv_cache", "pages (vendor's limit)");
  require_between(operands.block_table.size(1), 1, kVendorPages, "block_table", "pages of a sequence (vendor's limit)");
}

}  // namespace

BlockSizes check_block(const SparseAttentionBlockOperands& operands, const SparseAttentionBlockOptions& options,
                       const at::Tensor& out) {
  const BlockSizes sizes = read_sizes(operands);
  check_shapes(operands, sizes, out);
  check_memory(operands, out);
  require_rank(operands.block_table, "block_table", 2);
  if (options.vendor_limits) check_vendor_limits(operands, sizes);
  const OptionalTensor absent, lengths = operands.act_seqs, table = operands.block_table;
  // Lengths and pages; any tensor of [B, S, heads, columns] stands for the query.
  read_batch({out, operands.kv_cache, absent, lengths, table, "BSND", "PA_BSND", "act_seqs"});
  check_cache_rows(operands.cache_index, sizes);
  return sizes;
}

}  // namespace opwright::sparse
