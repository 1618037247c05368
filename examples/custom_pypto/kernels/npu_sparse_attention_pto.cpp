// kernels/npu_sparse_attention_pto.cpp: the device operator SparseAttentionPto, for the twin.
#include <opwright/kernel.h>
#include <sparse_attention/sparse_attention_block.h>

namespace {

// x: the operator's arguments in their order, of which it writes the caches: x10, x11 and x19.
void sparse_attention_pto(const std::vector<at::Tensor>& x, std::vector<at::Tensor>& y) {
  std::vector<at::Tensor> in(x.size());  // the device operator takes any strides (AutoContiguous)
  for (size_t i = 0; i < x.size(); ++i) in[i] = x[i].contiguous();
  at::Tensor kv_cache = x[10], kr_cache = x[11], index_k_cache = x[19];
  opwright::sparse::sparse_attention_block(
      {in[0],    in[1],    in[2],  in[3],  in[4],  in[5],  in[6],  in[7],  in[8],  in[9],
       kv_cache, kr_cache, in[12], in[13], in[14], in[15], in[16], in[17], in[18], index_k_cache},
      {.vendor_limits = true}, y[0]);
}

}  // namespace

OPWRIGHT_KERNEL(aclnnSparseAttentionPto, (RefList, x)(OutList, y), sparse_attention_pto(x, y))
