// native/sparse_attention/sparse_attention_block.h
// The attention block of a sparse MLA decode step (npu_sparse_attention_pto): projections of the newest S tokens of
// each of B sequences, their keys written into paged caches, the tokens that the lightning indexer selects, attention
// to these.
//
//   latent        = rms_norm(x w_dq)
//   query         = latent w_uq_qr: of each of N heads 128 columns, times w_uk 512; and 64, RoPE
//   key           = x w_dkv_kr: 512 columns, rms_norm, to kv_cache; and 64, RoPE, to kr_cache
//   index query   = latent w_idx_qb, RoPE in the first 64 columns of each head
//   index key     = layer_norm(x w_idx_k), RoPE in the first 64 columns, to index_k_cache
//   index weights = x w_idx_proj
//   out           = attention of the query to the 2048 tokens with the highest scores, those of the caches and the new
//
// Weights marked NZ have the bytes of FRACTAL_NZ, [N / 16, K, 16], under the shape [K, N]; the tensor does not say it.
#pragma once

#include <ATen/core/Tensor.h>

#include "runtime/error.h"

namespace opwright::sparse {

// bfloat16, but int32 for cache_index, block_table and act_seqs. In the order of the operator's inputs.
struct SparseAttentionBlockOperands {
  const at::Tensor& x;                       // [B, S, hidden]
  const at::Tensor& w_dq;                    // [hidden, rank], NZ
  const at::Tensor& w_uq_qr;                 // [rank, N * 192], NZ
  const at::Tensor& w_uk;                    // [N, 128, 512]
  const at::Tensor& w_dkv_kr;                // [hidden, 576], NZ
  const at::Tensor &gamma_cq, &gamma_ckv;    // [rank], [512]
  const at::Tensor &sin, &cos;               // [B, S, 64]
  const at::Tensor& cache_index;             // [B, S]: the new token's row of the caches as [pages * page size, ...]
  at::Tensor &kv_cache, &kr_cache;           // [pages, page size, 1, 512] and 64; written
  const at::Tensor& block_table;             // [B, pages of a sequence]
  const at::Tensor& act_seqs;                // [B]: tokens of each sequence, the new ones included
  const at::Tensor& w_idx_qb;                // [rank, NI * 128], NZ
  const at::Tensor& w_idx_k;                 // [hidden, 128], NZ
  const at::Tensor& w_idx_proj;              // [hidden, NI], NZ
  const at::Tensor &in_gamma_k, &in_beta_k;  // [128]
  at::Tensor& index_k_cache;                 // [pages, page size, 1, 128]; written
};

struct SparseAttentionBlockOptions {
  // The vendor's kernel takes a batch of 4, 1 or 2 new tokens, at most 4096 pages of which 1024 for a sequence. The
  // mathematics has no such limits: without this option only shapes that do not fit together are refused. With it,
  // what would be refused on the hardware is refused here: what an operator package that also runs there wants unless
  // its user says otherwise.
  bool vendor_limits = false;
};

// Writes the three caches (of tokens with the same row the last one stays), then `out`, [B, S, N, 512]; 0 where a query
// sees no token. Throws 161002 for what is not allowed, before any cache is written.
OPWRIGHT_API void sparse_attention_block(const SparseAttentionBlockOperands& operands,
                                         const SparseAttentionBlockOptions& options, at::Tensor& out);

}  // namespace opwright::sparse
