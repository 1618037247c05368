// kernels/npu_lightning_indexer_pto.cpp: the device operator LightningIndexerPto, for the twin.
#include <opwright/kernel.h>
#include <sparse_attention/lightning_indexer.h>

namespace {

// x: query, key, weights, lengths of the keys, block table. y: the indices; how many is their last size.
void lightning_indexer_pto(const std::vector<at::Tensor>& x, std::vector<at::Tensor>& y) {
  const std::string query_layout = "BSND", key_layout = "PA_BSND";
  const opwright::sparse::OptionalTensor all_queries, key_lengths = x[3], block_table = x[4];
  opwright::sparse::lightning_indexer({x[0], x[1], x[2], all_queries, key_lengths, block_table},
                                      {query_layout, key_layout, y[0].size(3), 3}, y[0], nullptr);
}

}  // namespace

OPWRIGHT_KERNEL(aclnnLightningIndexerPto, (TensorList, x)(Double, score_scale)(OutList, y), lightning_indexer_pto(x, y))
