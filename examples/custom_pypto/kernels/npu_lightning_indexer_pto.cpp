// kernels/npu_lightning_indexer_pto.cpp: the device operator LightningIndexerPto, for the twin.
#include <opwright/kernel.h>
#include <sparse_attention/lightning_indexer.h>

namespace {

// x: query, key, weights, lengths of the keys, block table. y: the indices; how many is their last size.
void lightning_indexer_pto(const std::vector<at::Tensor>& x, std::vector<at::Tensor>& y) {
  std::vector<at::Tensor> in(x.size());  // the device operator takes any strides (AutoContiguous)
  for (size_t i = 0; i < x.size(); ++i) in[i] = x[i].contiguous();
  // A cache that is part of a larger one is not copied: its pages may lie apart.
  if (x[1].size(0) > 0 && x[1].select(0, 0).is_contiguous()) in[1] = x[1];
  const std::string query_layout = "BSND", key_layout = "PA_BSND";
  const opwright::sparse::OptionalTensor all_queries, key_lengths = in[3], block_table = in[4];
  opwright::sparse::lightning_indexer({in[0], in[1], in[2], all_queries, key_lengths, block_table},
                                      {query_layout, key_layout, y[0].size(3), 3}, y[0], nullptr);
}

}  // namespace

// A node of a graph need not have the attributes.
OPWRIGHT_KERNEL(aclnnLightningIndexerPto,
                (TensorList, x)(Double, score_scaleOptional)(Int, sparse_countOptional)(OutList, y),
                lightning_indexer_pto(x, y))
