// csrc/npu_sparse_attention_pto.cpp: the attention block of a decode step, which adds the new tokens to its three
// caches and attends to those that the indexer selects; NPU and Meta kernels.
#include <ATen/DeviceGuard.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "ops_common.h"
#include "ops_function.h"

namespace custom_pypto {
namespace {

constexpr int64_t kHidden = 7168;
constexpr int64_t kRank = 1536;  // of the compressed query
constexpr int64_t kHeads = 128;
constexpr int64_t kNope = 128;
constexpr int64_t kRope = 64;
constexpr int64_t kLatent = 512;
constexpr int64_t kIndexHeads = 64;
constexpr int64_t kIndexDim = 128;
constexpr int64_t kPageSize = 128;
constexpr int64_t kBatches = 4;
constexpr int64_t kMostQueries = 2;
constexpr int64_t kMostPages = 1024;  // of a sequence

at::Tensor npu_sparse_attention_pto_npu(const at::Tensor& x, const at::Tensor& w_dq, const at::Tensor& w_uq_qr,
                                        const at::Tensor& w_uk, const at::Tensor& w_dkv_kr, const at::Tensor& gamma_cq,
                                        const at::Tensor& gamma_ckv, const at::Tensor& sin, const at::Tensor& cos,
                                        const at::Tensor& cache_index, const at::Tensor& kv_cache,
                                        const at::Tensor& kr_cache, const at::Tensor& block_table,
                                        const at::Tensor& act_seqs, const at::Tensor& w_idx_qb,
                                        const at::Tensor& w_idx_k, const at::Tensor& w_idx_proj,
                                        const at::Tensor& in_gamma_k, const at::Tensor& in_beta_k,
                                        const at::Tensor& index_k_cache) {
  const c10::OptionalDeviceGuard guard(at::device_of(x));
  at::Tensor out = npu_sparse_attention_pto_meta(x, w_dq, w_uq_qr, w_uk, w_dkv_kr, gamma_cq, gamma_ckv, sin, cos,
                                                 cache_index, kv_cache, kr_cache, block_table, act_seqs, w_idx_qb,
                                                 w_idx_k, w_idx_proj, in_gamma_k, in_beta_k, index_k_cache);
  exec_sparse_attention_pto(
      {x,        w_dq,     w_uq_qr,     w_uk,     w_dkv_kr, gamma_cq, gamma_ckv,  sin,        cos,       cache_index,
       kv_cache, kr_cache, block_table, act_seqs, w_idx_qb, w_idx_k,  w_idx_proj, in_gamma_k, in_beta_k, index_k_cache},
      out);
  return out;
}

}  // namespace

at::Tensor npu_sparse_attention_pto_meta(const at::Tensor& x, const at::Tensor& w_dq, const at::Tensor& w_uq_qr,
                                         const at::Tensor& w_uk, const at::Tensor& w_dkv_kr, const at::Tensor& gamma_cq,
                                         const at::Tensor& gamma_ckv, const at::Tensor& sin, const at::Tensor& cos,
                                         const at::Tensor& cache_index, const at::Tensor& kv_cache,
                                         const at::Tensor& kr_cache, const at::Tensor& block_table,
                                         const at::Tensor& act_seqs, const at::Tensor& w_idx_qb,
                                         const at::Tensor& w_idx_k, const at::Tensor& w_idx_proj,
                                         const at::Tensor& in_gamma_k, const at::Tensor& in_beta_k,
                                         const at::Tensor& index_k_cache) {
  Arguments arguments("npu_sparse_attention_pto");
  arguments.tensor("x", x, at::kBFloat16, {"B", "S1", kHidden});
  arguments.tensor("w_dq", w_dq, at::kBFloat16, {kHidden, kRank});
  arguments.tensor("w_uq_qr", w_uq_qr, at::kBFloat16, {kRank, kHeads * (kNope + kRope)});
  arguments.tensor("w_uk", w_uk, at::kBFloat16, {kHeads, kNope, kLatent});
  arguments.tensor("w_dkv_kr", w_dkv_kr, at::kBFloat16, {kHidden, kLatent + kRope});
  arguments.tensor("gamma_cq", gamma_cq, at::kBFloat16, {kRank});
  arguments.tensor("gamma_ckv", gamma_ckv, at::kBFloat16, {kLatent});
  arguments.tensor("sin", sin, at::kBFloat16, {"B", "S1", kRope});
  arguments.tensor("cos", cos, at::kBFloat16, {"B", "S1", kRope});
  arguments.tensor("cache_index", cache_index, at::kInt, {"B", "S1"});
  arguments.tensor("kv_cache", kv_cache, at::kBFloat16, {"block_num", kPageSize, 1, kLatent});
  arguments.tensor("kr_cache", kr_cache, at::kBFloat16, {"block_num", kPageSize, 1, kRope});
  arguments.tensor("block_table", block_table, at::kInt, {"B", "max_blocks"});
  arguments.tensor("act_seqs", act_seqs, at::kInt, {"B"});
  arguments.tensor("w_idx_qb", w_idx_qb, at::kBFloat16, {kRank, kIndexHeads * kIndexDim});
  arguments.tensor("w_idx_k", w_idx_k, at::kBFloat16, {kHidden, kIndexDim});
  arguments.tensor("w_idx_proj", w_idx_proj, at::kBFloat16, {kHidden, kIndexHeads});
  arguments.tensor("in_gamma_k", in_gamma_k, at::kBFloat16, {kIndexDim});
  arguments.tensor("in_beta_k", in_beta_k, at::kBFloat16, {kIndexDim});
  arguments.tensor("index_k_cache", index_k_cache, at::kBFloat16, {"block_num", kPageSize, 1, kIndexDim});
  arguments.between("B", kBatches, kBatches);
  arguments.between("S1", 1, kMostQueries);
  arguments.between("max_blocks", 1, kMostPages);
  arguments.between("block_num", 1, arguments.size("B") * kMostPages);
  arguments.in_place("kv_cache", kv_cache);
  arguments.in_place("kr_cache", kr_cache);
  arguments.in_place("index_k_cache", index_k_cache);
  return at::empty_symint({x.sym_size(0), x.sym_size(1), w_uk.sym_size(0), w_uk.sym_size(2)}, x.options());
}

}  // namespace custom_pypto

TORCH_LIBRARY_IMPL(custom_pypto, PrivateUse1, m) {
  m.impl("npu_sparse_attention_pto", &custom_pypto::npu_sparse_attention_pto_npu);
  m.impl("npu_sparse_attention_pto_undeclared", &custom_pypto::npu_sparse_attention_pto_npu);
}

TORCH_LIBRARY_IMPL(custom_pypto, Meta, m) {
  m.impl("npu_sparse_attention_pto", &custom_pypto::npu_sparse_attention_pto_meta);
  m.impl("npu_sparse_attention_pto_undeclared", &custom_pypto::npu_sparse_attention_pto_meta);
}

TORCH_LIBRARY_IMPL(custom_pypto, Autograd, m) {
  m.impl("npu_sparse_attention_pto", torch::CppFunction::makeFromBoxedFunction<&custom_pypto::not_differentiable>());
  m.impl("npu_sparse_attention_pto_undeclared",
         torch::CppFunction::makeFromBoxedFunction<&custom_pypto::not_differentiable>());
}
