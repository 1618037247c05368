// native/sparse_attention/block/sparse_attention_block.cpp
#include "sparse_attention/sparse_attention_block.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sparse_attention/block/checks.h"
#include "sparse_attention/block/norm.h"
#include "sparse_attention/block/projection.h"
#include "sparse_attention/block/rope.h"
#include "sparse_attention/lightning_indexer.h"
#include "sparse_attention/sparse_flash_attention.h"

namespace opwright::sparse {

namespace {

using at::BFloat16;

constexpr float kRmsEpsilon = 1e-5F;
constexpr float kLayerEpsilon = 1e-6F;
constexpr int64_t kSelected = 2048;
constexpr int64_t kGrain = 64;  // heads of rows that are worth a thread

// Results of the projections of the new tokens; the names are those of the header.
struct Projected {
  at::Tensor latent;              // [rows, rank]
  at::Tensor query, index_query;  // [rows, N * 192], [rows, NI * 128]
  at::Tensor absorbed, rope;      // [B, S, N, 512], [B, S, N, 64]
  at::Tensor key, index_key;      // [rows, 576], and [rows, 128] in float32
  at::Tensor index_weights;       // [B, S, NI]
};

const BFloat16* data(const at::Tensor& tensor) { return tensor.const_data_ptr<BFloat16>(); }
BFloat16* mutable_data(const at::Tensor& tensor) { return tensor.mutable_data_ptr<BFloat16>(); }

// out = x times a weight with the bytes of FRACTAL_NZ.
Projection nz_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& out) {
  const bool is_wide = out.scalar_type() == at::kFloat;
  return {data(x),
          weight.size(0),
          Weight::nz(data(weight), weight.size(0), weight.size(1)),
          is_wide ? nullptr : mutable_data(out),
          is_wide ? out.mutable_data_ptr<float>() : nullptr,
          weight.size(1)};
}

Projected allocate(const BlockSizes& sizes, const at::TensorOptions& options) {
  const auto [rows, batch, count] = std::tuple(sizes.rows(), sizes.batch, sizes.count);
  return {at::empty({rows, sizes.rank}, options),
          at::empty({rows, sizes.heads * (kNope + kRope)}, options),
          at::empty({batch, count, sizes.index_heads, kIndex}, options),
          at::empty({batch, count, sizes.heads, kLatent}, options),
          at::empty({batch, count, sizes.heads, kRope}, options),
          at::empty({rows, kLatent + kRope}, options),
          at::empty({rows, kIndex}, options.dtype(at::kFloat)),
          at::empty({batch, count, sizes.index_heads}, options)};
}

// The products with x, then those with the latent, then w_uk's.
void compute_products(const SparseAttentionBlockOperands& operands, const BlockSizes& sizes, Projected& to) {
  const int64_t rows = sizes.rows();
  const at::Tensor x = operands.x.contiguous(), gamma = operands.gamma_cq.contiguous();
  project(rows, {nz_product(x, operands.w_dq, to.latent), nz_product(x, operands.w_dkv_kr, to.key),
                 nz_product(x, operands.w_idx_k, to.index_key), nz_product(x, operands.w_idx_proj, to.index_weights)});
  for (int64_t row = 0; row < rows; ++row) {
    BFloat16* const latent = mutable_data(to.latent) + row * sizes.rank;
    rms_norm(latent, data(gamma), sizes.rank, kRmsEpsilon, latent);
  }
  project(rows, {nz_product(to.latent, operands.w_uq_qr, to.query),
                 nz_product(to.latent, operands.w_idx_qb, to.index_query)});
  std::vector<Projection> heads;
  for (int64_t head = 0; head < sizes.heads; ++head) {
    heads.push_back({data(to.query) + head * (kNope + kRope), sizes.heads * (kNope + kRope),
                     Weight::plain(data(operands.w_uk) + head * kNope * kLatent, kNope, kLatent),
                     mutable_data(to.absorbed) + head * kLatent, nullptr, sizes.heads * kLatent});
  }
  project(rows, heads);
}

// Rotary positions of the queries.
void rotate_queries(const BlockSizes& sizes, const BFloat16* sin, const BFloat16* cos, Projected& of) {
  at::parallel_for(0, sizes.rows() * sizes.heads, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t angles = i / sizes.heads * kRope;
      const BFloat16* const query = data(of.query) + i * (kNope + kRope) + kNope;
      rope(query, sin + angles, cos + angles, mutable_data(of.rope) + i * kRope);
    }
  });
  at::parallel_for(0, sizes.rows() * sizes.index_heads, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t angles = i / sizes.index_heads * kRope;
      BFloat16* const query = mutable_data(of.index_query) + i * kIndex;
      rope(query, sin + angles, cos + angles, query);
    }
  });
}

BFloat16* cache_row(const at::Tensor& cache, int64_t row) {
  const int64_t page = row / cache.size(1), token = row % cache.size(1);
  return mutable_data(cache) + page * cache.stride(0) + token * cache.size(3);
}

// The keys of the new tokens; one after the other, so that the last of the same row stays.
void write_caches(const SparseAttentionBlockOperands& operands, const BlockSizes& sizes, const BFloat16* sin,
                  const BFloat16* cos, const Projected& from) {
  const at::Tensor slots = operands.cache_index.contiguous(), gamma = operands.gamma_ckv.contiguous(),
                   index_gamma = operands.in_gamma_k.contiguous(), index_beta = operands.in_beta_k.contiguous();
  for (int64_t row = 0; row < sizes.rows(); ++row, sin += kRope, cos += kRope) {
    const int64_t slot = slots.const_data_ptr<int32_t>()[row];
    const BFloat16* const key = data(from.key) + row * (kLatent + kRope);
    rms_norm(key, data(gamma), kLatent, kRmsEpsilon, cache_row(operands.kv_cache, slot));
    rope(key + kLatent, sin, cos, cache_row(operands.kr_cache, slot));
    BFloat16* const index_key = cache_row(operands.index_k_cache, slot);
    layer_norm(from.index_key.const_data_ptr<float>() + row * kIndex, data(index_gamma), data(index_beta), kIndex,
               kLayerEpsilon, index_key);
    rope(index_key, sin, cos, index_key);
  }
}

}  // namespace

void sparse_attention_block(const SparseAttentionBlockOperands& operands, const SparseAttentionBlockOptions& options,
                            at::Tensor& out) {
  const BlockSizes sizes = check_block(operands, options, out);
  const at::Tensor sin = operands.sin.contiguous(), cos = operands.cos.contiguous();
  Projected projected = allocate(sizes, operands.x.options());
  compute_products(operands, sizes, projected);
  rotate_queries(sizes, data(sin), data(cos), projected);
  write_caches(operands, sizes, data(sin), data(cos), projected);

  const std::string query_layout = "BSND", key_layout = "PA_BSND";
  const OptionalTensor absent, lengths = operands.act_seqs, table = operands.block_table;
  const OptionalTensor rope = projected.rope, key_rope = operands.kr_cache;
  at::Tensor indices = at::empty({sizes.batch, sizes.count, 1, kSelected}, operands.x.options().dtype(at::kInt));
  lightning_indexer({projected.index_query, operands.index_k_cache, projected.index_weights, absent, lengths, table},
                    {query_layout, key_layout, kSelected}, indices, nullptr);
  const SparseAttentionOptions attention{1 / std::sqrt(double(kLatent + kRope)), 1, query_layout, key_layout};
  sparse_flash_attention({projected.absorbed, operands.kv_cache, operands.kv_cache, indices, table, absent, lengths,
                          rope, key_rope, absent},
                         attention, out, {});
}

}  // namespace opwright::sparse
