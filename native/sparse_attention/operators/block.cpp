// native/sparse_attention/operators/block.cpp
// opwright::sparse_attention_block: the block as a CPU operator of PyTorch, for kernels in Python and for tests.
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
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

at::Tensor new_result(Input x, Input w_uk) {
  TORCH_CHECK_VALUE(x.dim() == 3 && w_uk.dim() == 3, "parameters 'x' and 'w_uk' have shapes ", x.sym_sizes(), " and ",
                    w_uk.sym_sizes(), "; both must have 3 dimensions");
  return at::empty_symint({x.sym_size(0), x.sym_size(1), w_uk.sym_size(0), w_uk.sym_size(2)}, x.options());
}

at::Tensor block_meta(Input x, Input, Input, Input w_uk, Input, Input, Input, Input, Input, Input, at::Tensor&,
                      at::Tensor&, Input, Input, Input, Input, Input, Input, Input, at::Tensor&, bool) {
  return new_result(x, w_uk);
}

at::Tensor block(Input x, Input w_dq, Input w_uq_qr, Input w_uk, Input w_dkv_kr, Input gamma_cq, Input gamma_ckv,
                 Input sin, Input cos, Input cache_index, at::Tensor& kv_cache, at::Tensor& kr_cache, Input block_table,
                 Input act_seqs, Input w_idx_qb, Input w_idx_k, Input w_idx_proj, Input in_gamma_k, Input in_beta_k,
                 at::Tensor& index_k_cache, bool vendor_limits) {
  at::Tensor out = new_result(x, w_uk);
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

TORCH_LIBRARY_IMPL(opwright, Meta, m) { m.impl("sparse_attention_block", &opwright::sparse::block_meta); }

// Its result has no derivative, and says so in backward.
TORCH_LIBRARY_IMPL(opwright, Autograd, m) {
  m.impl("sparse_attention_block", torch::autograd::autogradNotImplementedFallback());
}
