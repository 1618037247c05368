// native/sparse_attention/block_operator.cpp
// opwright::sparse_attention_block: the block as a CPU operator of PyTorch, for kernels in Python and for tests.
#include <ATen/Functions.h>
#include <torch/library.h>

#include "sparse_attention/sparse_attention_block.h"

namespace opwright::sparse {

namespace {

constexpr const char* kSchema =
    "sparse_attention_block(Tensor x, Tensor w_dq, Tensor w_uq_qr, Tensor w_uk, Tensor w_dkv_kr, Tensor gamma_cq, "
    "Tensor gamma_ckv, Tensor sin, Tensor cos, Tensor cache_index, Tensor(a!) kv_cache, Tensor(b!) kr_cache, "
    "Tensor block_table, Tensor act_seqs, Tensor w_idx_qb, Tensor w_idx_k, Tensor w_idx_proj, Tensor in_gamma_k, "
    "Tensor in_beta_k, Tensor(c!) index_k_cache, *, bool vendor_limits=False) -> Tensor";

using Input = const at::Tensor&;

at::Tensor block(Input x, Input w_dq, Input w_uq_qr, Input w_uk, Input w_dkv_kr, Input gamma_cq, Input gamma_ckv,
                 Input sin, Input cos, Input cache_index, at::Tensor& kv_cache, at::Tensor& kr_cache, Input block_table,
                 Input act_seqs, Input w_idx_qb, Input w_idx_k, Input w_idx_proj, Input in_gamma_k, Input in_beta_k,
                 at::Tensor& index_k_cache, bool vendor_limits) {
  TORCH_CHECK(x.dim() == 3 && w_uk.dim() == 3, "parameters 'x' and 'w_uk' have shapes ", x.sizes(), " and ",
              w_uk.sizes(), "; both must have 3 dimensions");
  at::Tensor out = at::empty({x.size(0), x.size(1), w_uk.size(0), w_uk.size(2)}, x.options());
  sparse_attention_block(
      {x,        w_dq,     w_uq_qr,     w_uk,     w_dkv_kr, gamma_cq, gamma_ckv,  sin,        cos,       cache_index,
       kv_cache, kr_cache, block_table, act_seqs, w_idx_qb, w_idx_k,  w_idx_proj, in_gamma_k, in_beta_k, index_k_cache},
      {vendor_limits}, out);
  return out;
}

}  // namespace

}  // namespace opwright::sparse

TORCH_LIBRARY_FRAGMENT(opwright, m) { m.def(opwright::sparse::kSchema); }

TORCH_LIBRARY_IMPL(opwright, CPU, m) { m.impl("sparse_attention_block", &opwright::sparse::block); }
