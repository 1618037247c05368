// native/sparse_attention/operators/selection_and_attention.cpp
// The indexers and sparse attention as CPU operators of PyTorch, opwright::lightning_indexer and so on, with the names
// that torch_npu gives their parameters: for the graph engine's kernels, which are traced.
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include "sparse_attention/indexer/checks.h"
#include "sparse_attention/lightning_indexer.h"
#include "sparse_attention/operators/arguments.h"
#include "sparse_attention/sizes.h"
#include "sparse_attention/sparse_flash_attention.h"

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
constexpr const char* kSparseFlashAttention =
    "sparse_flash_attention(Tensor query, Tensor key, Tensor? value, Tensor sparse_indices, float scale_value, *, "
    "Tensor? block_table=None, Tensor? actual_seq_lengths_query=None, Tensor? actual_seq_lengths_kv=None, "
    "Tensor? query_rope=None, Tensor? key_rope=None, int sparse_block_size=1, str layout_query=\"BSND\", "
    "str layout_kv=\"BSND\", int sparse_mode=3, bool return_softmax_lse=False, Tensor? sinks=None) "
    "-> (Tensor, Tensor, Tensor)";
constexpr const char* kKvQuantSparseFlashAttention =
    "kv_quant_sparse_flash_attention(Tensor query, Tensor key, Tensor value, Tensor sparse_indices, "
    "float scale_value, *, Tensor? block_table=None, Tensor? actual_seq_lengths_query=None, "
    "Tensor? actual_seq_lengths_kv=None, int sparse_block_size=1, str layout_query=\"BSND\", "
    "str layout_kv=\"BSND\", int sparse_mode=3, Tensor? sinks=None) -> Tensor";

// Results, for tensors and, as sizes are symbolic, for fake ones.

Layouts require_places(const SequenceOperands& operands, int64_t sparse_mode) {
  require_sparse_mode(sparse_mode);
  return read_layouts(operands);
}

// Before results are allocated, whose size is what was asked for.
void require_indexer(const SequenceOperands& operands, int64_t sparse_mode, int64_t count, bool with_values) {
  check_count(count);
  check_return_value(with_values, require_places(operands, sparse_mode).key);
}

void require_quant_indexer(const SequenceOperands& operands, int64_t sparse_mode, int64_t count) {
  check_quantized_count(count);
  require_places(operands, sparse_mode);
}

void require_attention(SequenceOperands operands, int64_t sparse_mode) {
  operands.key_lengths_name = "actual_seq_lengths_kv";
  operands.key_layout_name = "layout_kv";
  require_places(operands, sparse_mode);
}

at::Tensor empty(Input like, c10::SymIntArrayRef sizes, at::ScalarType dtype) {
  return at::empty_symint(sizes, like.options().dtype(dtype));
}

at::Tensor new_indices(Input query, int64_t count) {
  std::vector<c10::SymInt> sizes = query.sym_sizes().vec();
  *(sizes.end() - 2) = 1;
  sizes.back() = count;
  return empty(query, sizes, at::kInt);
}

at::Tensor new_values(Input query, Input indices, bool wanted) {
  return wanted ? empty(query, indices.sym_sizes(), query.scalar_type()) : empty(query, {0}, query.scalar_type());
}

at::Tensor new_statistic(Input query, bool wanted) {
  if (!wanted) return empty(query, {0}, at::kFloat);
  std::vector<c10::SymInt> sizes = query.sym_sizes().vec();
  sizes.pop_back();
  sizes.insert(sizes.end() - 2, 1);
  return empty(query, sizes, at::kFloat);
}

at::Tensor new_out(Input query, c10::SymInt columns) {
  std::vector<c10::SymInt> sizes = query.sym_sizes().vec();
  sizes.back() = std::move(columns);
  return empty(query, sizes, query.scalar_type());
}

// Operands as the core takes them: contiguous, except that the first axis of keys may have any stride.

at::Tensor with_whole_pages(Input tensor) {
  return tensor.dim() > 0 && tensor.size(0) > 0 && tensor.select(0, 0).is_contiguous() ? tensor : tensor.contiguous();
}

// A cache of attention: a slice of columns is read where it lies.
at::Tensor with_whole_rows(Input tensor) {
  return tensor.dim() > 0 && tensor.stride(-1) == 1 ? tensor : tensor.contiguous();
}

OptionalTensor with_whole_rows(Optional tensor) {
  return tensor ? OptionalTensor(with_whole_rows(*tensor)) : std::nullopt;
}

OptionalTensor contiguous(Optional tensor) { return tensor ? OptionalTensor(tensor->contiguous()) : std::nullopt; }

using IndexerResult = std::tuple<at::Tensor, at::Tensor>;

IndexerResult indexer_meta(Input query, Input key, Input weights, Optional query_lengths, Optional key_lengths,
                           Optional block_table, std::string query_layout, std::string key_layout, int64_t count,
                           int64_t sparse_mode, bool with_values) {
  require_one_device({{"query", query},
                      {"key", key},
                      {"weights", weights},
                      {"actual_seq_lengths_query", query_lengths},
                      {"actual_seq_lengths_key", key_lengths},
                      {"block_table", block_table}});
  require_indexer({query, key, query_lengths, key_lengths, block_table, query_layout, key_layout}, sparse_mode, count,
                  with_values);
  at::Tensor indices = new_indices(query, count);
  return {indices, new_values(query, indices, with_values)};
}

IndexerResult indexer(Input query, Input key, Input weights, Optional query_lengths, Optional key_lengths,
                      Optional block_table, std::string query_layout, std::string key_layout, int64_t count,
                      int64_t sparse_mode, bool with_values) {
  require_indexer({query, key, query_lengths, key_lengths, block_table, query_layout, key_layout}, sparse_mode, count,
                  with_values);
  at::Tensor indices = new_indices(query, count);
  at::Tensor values = new_values(query, indices, with_values);
  lightning_indexer(
      {query.contiguous(), with_whole_pages(key), weights.contiguous(), query_lengths, key_lengths, block_table},
      {query_layout, key_layout, count, sparse_mode}, indices, with_values ? &values : nullptr);
  return {indices, values};
}

at::Tensor quant_indexer_meta(Input query, Input key, Input weights, Input query_scale, Input key_scale,
                              Optional query_lengths, Optional key_lengths, Optional block_table,
                              std::string query_layout, std::string key_layout, int64_t count, int64_t sparse_mode) {
  require_one_device({{"query", query},
                      {"key", key},
                      {"weights", weights},
                      {"query_dequant_scale", query_scale},
                      {"key_dequant_scale", key_scale},
                      {"actual_seq_lengths_query", query_lengths},
                      {"actual_seq_lengths_key", key_lengths},
                      {"block_table", block_table}});
  require_quant_indexer({query, key, query_lengths, key_lengths, block_table, query_layout, key_layout}, sparse_mode,
                        count);
  return new_indices(query, count);
}

at::Tensor quant_indexer(Input query, Input key, Input weights, Input query_scale, Input key_scale,
                         Optional query_lengths, Optional key_lengths, Optional block_table, std::string query_layout,
                         std::string key_layout, int64_t count, int64_t sparse_mode) {
  require_quant_indexer({query, key, query_lengths, key_lengths, block_table, query_layout, key_layout}, sparse_mode,
                        count);
  at::Tensor indices = new_indices(query, count);
  quant_lightning_indexer({query.contiguous(), with_whole_pages(key), weights.contiguous(), query_scale.contiguous(),
                           with_whole_pages(key_scale), query_lengths, key_lengths, block_table},
                          {query_layout, key_layout, count, sparse_mode}, indices);
  return indices;
}

// The tensors of attention; that to a quantised cache has no ropes.
struct AttentionTensors {
  Input query, key;
  Optional value;
  Input indices;
  Optional block_table, query_lengths, key_lengths, query_rope, key_rope, sinks;
};

void require_attention_on_one_device(const AttentionTensors& tensors) {
  require_one_device({{"query", tensors.query},
                      {"key", tensors.key},
                      {"value", tensors.value},
                      {"sparse_indices", tensors.indices},
                      {"block_table", tensors.block_table},
                      {"actual_seq_lengths_query", tensors.query_lengths},
                      {"actual_seq_lengths_kv", tensors.key_lengths},
                      {"query_rope", tensors.query_rope},
                      {"key_rope", tensors.key_rope},
                      {"sinks", tensors.sinks}});
}

using AttentionResult = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

AttentionResult new_attention(Input query, bool with_statistics) {
  return {new_out(query, query.sym_sizes().back()), new_statistic(query, with_statistics),
          new_statistic(query, with_statistics)};
}

AttentionResult attention_meta(Input query, Input key, Optional value, Input indices, double, Optional block_table,
                               Optional query_lengths, Optional key_lengths, Optional query_rope, Optional key_rope,
                               int64_t, std::string query_layout, std::string key_layout, int64_t sparse_mode,
                               bool with_statistics, Optional sinks) {
  require_attention_on_one_device(
      {query, key, value, indices, block_table, query_lengths, key_lengths, query_rope, key_rope, sinks});
  require_attention({query, key, query_lengths, key_lengths, block_table, query_layout, key_layout}, sparse_mode);
  return new_attention(query, with_statistics);
}

AttentionResult attention(Input query, Input key, Optional value, Input indices, double scale, Optional block_table,
                          Optional query_lengths, Optional key_lengths, Optional query_rope, Optional key_rope,
                          int64_t block_size, std::string query_layout, std::string key_layout, int64_t sparse_mode,
                          bool with_statistics, Optional sinks) {
  require_attention({query, key, query_lengths, key_lengths, block_table, query_layout, key_layout}, sparse_mode);
  AttentionResult result = new_attention(query, with_statistics);
  auto& [out, highest, sum] = result;
  sparse_flash_attention(
      {query.contiguous(), with_whole_rows(key), with_whole_rows(value.value_or(key)), indices.contiguous(),
       block_table, query_lengths, key_lengths, contiguous(query_rope), with_whole_rows(key_rope), contiguous(sinks)},
      {scale, block_size, query_layout, key_layout, sparse_mode}, out,
      with_statistics ? Statistics{&highest, &sum} : Statistics{});
  return result;
}

at::Tensor kv_quant_attention_meta(Input query, Input key, Input value, Input indices, double, Optional block_table,
                                   Optional query_lengths, Optional key_lengths, int64_t, std::string query_layout,
                                   std::string key_layout, int64_t sparse_mode, Optional sinks) {
  require_attention_on_one_device({query, key, value, indices, block_table, query_lengths, key_lengths, {}, {}, sinks});
  require_attention({query, key, query_lengths, key_lengths, block_table, query_layout, key_layout}, sparse_mode);
  return new_out(query, kLatent);
}

at::Tensor kv_quant_attention(Input query, Input key, Input value, Input indices, double scale, Optional block_table,
                              Optional query_lengths, Optional key_lengths, int64_t block_size,
                              std::string query_layout, std::string key_layout, int64_t sparse_mode, Optional sinks) {
  require_attention({query, key, query_lengths, key_lengths, block_table, query_layout, key_layout}, sparse_mode);
  at::Tensor out = new_out(query, kLatent);
  kv_quant_sparse_flash_attention({query.contiguous(), with_whole_rows(key), with_whole_rows(value),
                                   indices.contiguous(), block_table, query_lengths, key_lengths, contiguous(sinks)},
                                  {scale, block_size, query_layout, key_layout, sparse_mode}, out);
  return out;
}

}  // namespace

}  // namespace opwright::sparse

namespace sparse = opwright::sparse;

TORCH_LIBRARY_FRAGMENT(opwright, m) {
  m.def(sparse::kLightningIndexer);
  m.def(sparse::kQuantLightningIndexer);
  m.def(sparse::kSparseFlashAttention);
  m.def(sparse::kKvQuantSparseFlashAttention);
}

TORCH_LIBRARY_IMPL(opwright, CPU, m) {
  m.impl("lightning_indexer", sparse::indexer);
  m.impl("quant_lightning_indexer", sparse::quant_indexer);
  m.impl("sparse_flash_attention", sparse::attention);
  m.impl("kv_quant_sparse_flash_attention", sparse::kv_quant_attention);
}

TORCH_LIBRARY_IMPL(opwright, Meta, m) {
  m.impl("lightning_indexer", sparse::indexer_meta);
  m.impl("quant_lightning_indexer", sparse::quant_indexer_meta);
  m.impl("sparse_flash_attention", sparse::attention_meta);
  m.impl("kv_quant_sparse_flash_attention", sparse::kv_quant_attention_meta);
}

// backward() says that there is no derivative.
TORCH_LIBRARY_IMPL(opwright, Autograd, m) {
  for (const char* name :
       {"lightning_indexer", "quant_lightning_indexer", "sparse_flash_attention", "kv_quant_sparse_flash_attention"}) {
    m.impl(name, torch::autograd::autogradNotImplementedFallback());
  }
}
