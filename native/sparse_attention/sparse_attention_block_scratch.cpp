// native/sparse_attention/sparse_attention_block_scratch.cpp
// For the time being, for the block alone: weak, so that the real functions replace them.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "sparse_attention/lightning_indexer.h"
#include "sparse_attention/sparse_flash_attention.h"

namespace opwright::sparse {

namespace {
at::Tensor rows(const at::Tensor& cache, const at::Tensor& pages) {
  return cache.index_select(0, pages).reshape({-1, cache.size(3)}).to(at::kFloat);
}
}  // namespace

__attribute__((weak)) void lightning_indexer(const IndexerOperands& o, const IndexerOptions& options,
                                             at::Tensor& indices, at::Tensor*) {
  const auto batch = read_batch(
      {o.query, o.key, o.query_lengths, o.key_lengths, o.block_table, options.query_layout, options.key_layout});
  indices.fill_(-1);
  for (const Sequence& sequence : batch.sequences) {
    const int64_t used = (sequence.keys + o.key.size(1) - 1) / o.key.size(1);
    const at::Tensor keys = rows(o.key, batch.block_table[sequence.index].slice(0, 0, used));
    for (int64_t i = 0; i < sequence.queries; ++i) {
      const int64_t visible = std::clamp<int64_t>(sequence.visible(i, options.sparse_mode), 0, sequence.keys);
      if (visible == 0) continue;
      const at::Tensor scores = at::matmul(o.query[sequence.index][i].to(at::kFloat), keys.slice(0, 0, visible).t());
      const at::Tensor row = at::matmul(o.weights[sequence.index][i].to(at::kFloat), scores.relu());
      const int64_t count = std::min(visible, options.count);
      indices[sequence.index][i][0].slice(0, 0, count).copy_(at::argsort(row, true, 0, true).slice(0, 0, count));
    }
  }
}

__attribute__((weak)) void sparse_flash_attention(const SparseAttentionOperands& o,
                                                  const SparseAttentionOptions& options, at::Tensor& out,
                                                  const Statistics&) {
  const auto batch = read_batch(
      {o.query, o.key, o.query_lengths, o.key_lengths, o.block_table, options.query_layout, options.key_layout});
  out.zero_();
  for (const Sequence& sequence : batch.sequences) {
    const int64_t used = (sequence.keys + o.key.size(1) - 1) / o.key.size(1);
    const at::Tensor pages = batch.block_table[sequence.index].slice(0, 0, used);
    const at::Tensor keys = rows(o.key, pages), ropes = rows(*o.key_rope, pages);
    for (int64_t i = 0; i < sequence.queries; ++i) {
      const at::Tensor named = o.indices[sequence.index][i][0];
      const at::Tensor chosen = named.masked_select(named.ge(0)).to(at::kLong);
      if (chosen.numel() == 0) continue;
      const at::Tensor value = keys.index_select(0, chosen);
      at::Tensor scores = at::matmul(o.query[sequence.index][i].to(at::kFloat), value.t());
      scores += at::matmul((*o.query_rope)[sequence.index][i].to(at::kFloat), ropes.index_select(0, chosen).t());
      out[sequence.index][i].copy_(at::matmul(at::softmax(scores * options.scale, -1), value));
    }
  }
}

}  // namespace opwright::sparse
