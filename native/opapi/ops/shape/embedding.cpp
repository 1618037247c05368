// native/opapi/ops/shape/embedding.cpp
// Table look-ups, their gradient and renormalisation.
#include "opapi/ops/common/precision.h"

namespace {

void embedding(const at::Tensor& weight, const at::Tensor& indices, at::Tensor& out) {
  if (!out.is_contiguous() || weight.dim() != 2) return assign(out, at::embedding(weight, indices));
  at::Tensor rows = out.view({indices.numel(), weight.size(1)});
  at::index_select_out(rows, weight, 0, indices.reshape(-1));
}

// The bag of each index: how many bags begin at or before it.
at::Tensor bags(const at::Tensor& indices, const at::Tensor& offsets) {
  return at::searchsorted(offsets, at::arange(indices.numel(), at::kLong), false, /*right=*/true).sub_(1);
}

void embedding_bag(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets,
                   bool scale_grad_by_freq, int64_t mode, bool sparse, const std::optional<at::Tensor>& weights,
                   bool include_last_offset, int64_t padding_idx, at::Tensor& output, at::Tensor& offset2bag,
                   at::Tensor& bag_size, at::Tensor& max_indices) {
  const auto [result, bag_of, sizes, positions] = at::_embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode,
                                                                     sparse, weights, include_last_offset, padding_idx);
  assign(output, result);
  assign(bag_size, sizes.slice(0, 0, bag_size.numel()));
  // ATen leaves out what its own gradient does not need; the caller's shapes say what is wanted.
  if (offset2bag.numel() > 0) {
    assign(offset2bag, bag_of.numel() == indices.numel() ? bag_of : bags(indices, offsets));
  }
  constexpr int64_t kMax = 2;
  if (mode == kMax) {
    assign(max_indices, positions);
  } else {
    max_indices.zero_();
  }
}

}  // namespace

ACLNN(Embedding, (In, weight)(Index, indices)(Out, out), embedding(weight, indices, out))
ACLNN(EmbeddingDenseBackward,
      (In, grad)(Index, indices)(UInt64, numWeights)(UInt64, paddingIdx)(Bool, scaleGradByFreq)(Out, out),
      assign(out, at::embedding_dense_backward(widened(grad), indices, static_cast<int64_t>(numWeights),
                                               static_cast<int64_t>(paddingIdx), scaleGradByFreq)))
ACLNN(EmbeddingRenorm, (Ref, selfRef)(Index, indices)(Double, maxNorm)(Double, normType),
      at::embedding_renorm_(selfRef, indices, maxNorm, normType))
ACLNN(EmbeddingBag,
      (In, weight)(Index, indices)(Index, offsets)(Bool, scaleGradByFreq)(Int, mode)(Bool, sparse)(OptIn,
                                                                                                   perSampleWeights)(
          Bool, includeLastOffset)(Int, paddingIdx)(Out, output)(OutIndex, offset2bag)(OutIndex, bagSize)(OutIndex,
                                                                                                          maxIndices),
      embedding_bag(weight, indices, offsets, scaleGradByFreq, mode, sparse, perSampleWeights, includeLastOffset,
                    paddingIdx, output, offset2bag, bagSize, maxIndices))
