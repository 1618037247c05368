// csrc/ops_function.h: forward and backward functions of the operators. What ends in _meta checks the arguments and
// allocates the results without values, on the arguments' own device: it is the whole Meta kernel, and the first step
// of the NPU kernel, so that the two cannot disagree.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>
#include <tuple>

namespace custom_pypto {

// Through the dispatcher: picks the NPU, Meta or autograd kernel as torch.ops.custom_pypto.* does.
at::Tensor add_custom(const at::Tensor& self, const at::Tensor& other);
std::tuple<at::Tensor, at::Tensor> add_custom_backward(const at::Tensor& grad);

at::Tensor add_custom_meta(const at::Tensor& self, const at::Tensor& other);
std::tuple<at::Tensor, at::Tensor> add_custom_backward_meta(const at::Tensor& grad);

at::Tensor npu_lightning_indexer_pto_meta(const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                                          const std::optional<at::Tensor>& actual_seq_lengths_query,
                                          const std::optional<at::Tensor>& actual_seq_lengths_key,
                                          const std::optional<at::Tensor>& block_table, std::string_view layout_query,
                                          std::string_view layout_key, int64_t sparse_count, int64_t sparse_mode);

at::Tensor npu_sparse_attention_pto_meta(const at::Tensor& x, const at::Tensor& w_dq, const at::Tensor& w_uq_qr,
                                         const at::Tensor& w_uk, const at::Tensor& w_dkv_kr, const at::Tensor& gamma_cq,
                                         const at::Tensor& gamma_ckv, const at::Tensor& sin, const at::Tensor& cos,
                                         const at::Tensor& cache_index, const at::Tensor& kv_cache,
                                         const at::Tensor& kr_cache, const at::Tensor& block_table,
                                         const at::Tensor& act_seqs, const at::Tensor& w_idx_qb,
                                         const at::Tensor& w_idx_k, const at::Tensor& w_idx_proj,
                                         const at::Tensor& in_gamma_k, const at::Tensor& in_beta_k,
                                         const at::Tensor& index_k_cache);

}  // namespace custom_pypto
