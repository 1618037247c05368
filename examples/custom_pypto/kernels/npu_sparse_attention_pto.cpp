// kernels/npu_sparse_attention_pto.cpp: the device operator SparseAttentionPto, for the twin.
#include <opwright/kernel.h>
#include <sparse_attention/sparse_attention_block.h>

namespace {

// x: the operator's arguments in their order, of which it writes the caches: x10, x11 and x19.
void sparse_attention_pto(std::vector<at::Tensor>& x, std::vector<at::Tensor>& y) {
  opwright::sparse::sparse_attention_block({x[0],  x[1],  x[2],  x[3],  x[4],  x[5],  x[6],  x[7],  x[8],  x[9],
                                            x[10], x[11], x[12], x[13], x[14], x[15], x[16], x[17], x[18], x[19]},
                                           {.vendor_limits = true}, y[0]);
}

}  // namespace

OPWRIGHT_KERNEL(aclnnSparseAttentionPto, (RefList, x)(OutList, y), sparse_attention_pto(x, y))
