// csrc/ops_def_registration.cpp: the schemas. Tensor(a!) marks an argument that the operator writes.
#include <torch/library.h>

TORCH_LIBRARY(custom_pypto, m) {
  m.def("add_custom(Tensor self, Tensor other) -> Tensor");
  m.def("add_custom_backward(Tensor self) -> (Tensor, Tensor)");
  m.def(
      "npu_lightning_indexer_pto(Tensor query, Tensor key, Tensor weights, *, Tensor? actual_seq_lengths_query=None, "
      "Tensor? actual_seq_lengths_key=None, Tensor? block_table=None, str layout_query='BSND', "
      "str layout_key='PA_BSND', int sparse_count=2048, int sparse_mode=3) -> Tensor");
  m.def(
      "npu_sparse_attention_pto(Tensor x, Tensor w_dq, Tensor w_uq_qr, Tensor w_uk, Tensor w_dkv_kr, "
      "Tensor gamma_cq, Tensor gamma_ckv, Tensor sin, Tensor cos, Tensor cache_index, Tensor(a!) kv_cache, "
      "Tensor(b!) kr_cache, Tensor block_table, Tensor act_seqs, Tensor w_idx_qb, Tensor w_idx_k, Tensor w_idx_proj, "
      "Tensor in_gamma_k, Tensor in_beta_k, Tensor(c!) index_k_cache) -> Tensor");
  // The schema as it was first published, which hides that the caches are written. Graphs may reorder, repeat or drop
  // such a call. It is here for graphs that were made with it.
  m.def(
      "npu_sparse_attention_pto_undeclared(Tensor x, Tensor w_dq, Tensor w_uq_qr, Tensor w_uk, Tensor w_dkv_kr, "
      "Tensor gamma_cq, Tensor gamma_ckv, Tensor sin, Tensor cos, Tensor cache_index, Tensor kv_cache, "
      "Tensor kr_cache, Tensor block_table, Tensor act_seqs, Tensor w_idx_qb, Tensor w_idx_k, Tensor w_idx_proj, "
      "Tensor in_gamma_k, Tensor in_beta_k, Tensor index_k_cache) -> Tensor");
}
