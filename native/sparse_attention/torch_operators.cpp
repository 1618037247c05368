// native/sparse_attention/torch_operators.cpp
// The indexers and sparse attention as CPU operators of PyTorch, opwright::lightning_indexer and so on, with the names
// that torch_npu gives their parameters: for the graph engine's kernels, which are traced.
#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include "sparse_attention/lightning_indexer.h"

namespace opwright::sparse {

namespace {

using Input = const at::Tensor&;
using Optional = const OptionalTensor&;

constexpr const char* kLightningIndexer =
    "lightning_indexer(Tensor query, Tensor key, Tensor weights, *, Tensor? actual_seq_lengths_query=None, "
    "Tensor? actual_seq_lengths_key=None, Tensor? block_table=None, str layout_query=\"BSND\", "
    "str layout_key=\"BSND\", int sparse_count=2048, int sparse_mode=3, bool return_value=False) -> (Tensor, Tensor)";
constexpr const char* kQuantLightningIndexer =
    "quant_lightning_indexer(Tensor query, Tensor key, Tensor weights, Tensor query_dequant_scale, "
    "Tensor key_dequant_scale, *, Tensor? actual_seq_lengths_query=None, Tensor? actual_seq_lengths_key=None, "
    "Tensor? block_table=None, str layout_query=\"BSND\", str layout_key=\"BSND\", int sparse_count=2048, "
    "int sparse_mode=3) -> Tensor";
// Results, for tensors and, as sizes are symbolic, for fake ones.

void require_query(Input query, const std::string& layout) {
  TORCH_CHECK_VALUE(layout == "BSND" || layout == "TND", "parameter 'layout_query' is '", layout,
                    "'; it must be BSND or TND");
  const int64_t rank = layout == "TND" ? 3 : 4;
  TORCH_CHECK_VALUE(query.dim() == rank, "parameter 'query' has ", query.dim(), " dimensions; layout ", layout, " has ",
                    rank);
}

at::Tensor empty(Input like, c10::SymIntArrayRef sizes, at::ScalarType dtype) {
  return at::empty_symint(sizes, like.options().dtype(dtype));
}

at::Tensor new_indices(Input query, const std::string& layout, int64_t count) {
  require_query(query, layout);
  std::vector<c10::SymInt> sizes = query.sym_sizes().vec();
  *(sizes.end() - 2) = 1;
  sizes.back() = count;
  return empty(query, sizes, at::kInt);
}

at::Tensor new_values(Input query, Input indices, bool wanted) {
  return wanted ? empty(query, indices.sym_sizes(), query.scalar_type()) : empty(query, {0}, query.scalar_type());
}

// Operands as the core takes them: contiguous, except that the first axis of keys may have any stride.

at::Tensor with_whole_pages(Input tensor) {
  return tensor.dim() > 0 && tensor.size(0) > 0 && tensor.select(0, 0).is_contiguous() ? tensor : tensor.contiguous();
}

using IndexerResult = std::tuple<at::Tensor, at::Tensor>;

IndexerResult indexer_meta(Input query, Input, Input, Optional, Optional, Optional, std::string query_layout,
                           std::string, int64_t count, int64_t, bool with_values) {
  at::Tensor indices = new_indices(query, query_layout, count);
  return {indices, new_values(query, indices, with_values)};
}

IndexerResult indexer(Input query, Input key, Input weights, Optional query_lengths, Optional key_lengths,
                      Optional block_table, std::string query_layout, std::string key_layout, int64_t count,
                      int64_t sparse_mode, bool with_values) {
  at::Tensor indices = new_indices(query, query_layout, count);
  at::Tensor values = new_values(query, indices, with_values);
  lightning_indexer(
      {query.contiguous(), with_whole_pages(key), weights.contiguous(), query_lengths, key_lengths, block_table},
      {query_layout, key_layout, count, sparse_mode}, indices, with_values ? &values : nullptr);
  return {indices, values};
}

at::Tensor quant_indexer_meta(Input query, Input, Input, Input, Input, Optional, Optional, Optional,
                              std::string query_layout, std::string, int64_t count, int64_t) {
  return new_indices(query, query_layout, count);
}

at::Tensor quant_indexer(Input query, Input key, Input weights, Input query_scale, Input key_scale,
                         Optional query_lengths, Optional key_lengths, Optional block_table, std::string query_layout,
                         std::string key_layout, int64_t count, int64_t sparse_mode) {
  at::Tensor indices = new_indices(query, query_layout, count);
  quant_lightning_indexer({query.contiguous(), with_whole_pages(key), weights.contiguous(), query_scale.contiguous(),
                           with_whole_pages(key_scale), query_lengths, key_lengths, block_table},
                          {query_layout, key_layout, count, sparse_mode}, indices);
  return indices;
}

}  // namespace

}  // namespace opwright::sparse

namespace sparse = opwright::sparse;

TORCH_LIBRARY_FRAGMENT(opwright, m) {
  m.def(sparse::kLightningIndexer);
  m.def(sparse::kQuantLightningIndexer);
}

TORCH_LIBRARY_IMPL(opwright, CPU, m) {
  m.impl("lightning_indexer", sparse::indexer);
  m.impl("quant_lightning_indexer", sparse::quant_indexer);
}

TORCH_LIBRARY_IMPL(opwright, Meta, m) {
  m.impl("lightning_indexer", sparse::indexer_meta);
  m.impl("quant_lightning_indexer", sparse::quant_indexer_meta);
}

// backward() says that there is no derivative.
TORCH_LIBRARY_IMPL(opwright, Autograd, m) {
  for (const char* name : {"lightning_indexer", "quant_lightning_indexer"}) {
    m.impl(name, torch::autograd::autogradNotImplementedFallback());
  }
}
