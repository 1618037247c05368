// csrc/npu_lightning_indexer_pto.cpp: which keys matter most to each query; NPU and Meta kernels.
#include <ATen/DeviceGuard.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "ops_common.h"
#include "ops_function.h"

namespace custom_pypto {
namespace {

constexpr int64_t kHeads = 64;
constexpr int64_t kHeadDim = 128;
constexpr int64_t kBlockSize = 128;
constexpr int64_t kMostBatches = 128;
constexpr int64_t kMostQueries = 4;
constexpr int64_t kMostPages = 1024;  // 128 K tokens
constexpr int64_t kMostSelected = 2048;

at::Tensor npu_lightning_indexer_pto_npu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                                         const std::optional<at::Tensor>& actual_seq_lengths_query,
                                         const std::optional<at::Tensor>& actual_seq_lengths_key,
                                         const std::optional<at::Tensor>& block_table, std::string_view layout_query,
                                         std::string_view layout_key, int64_t sparse_count, int64_t sparse_mode) {
  const c10::OptionalDeviceGuard guard(at::device_of(query));
  at::Tensor out = npu_lightning_indexer_pto_meta(query, key, weights, actual_seq_lengths_query, actual_seq_lengths_key,
                                                  block_table, layout_query, layout_key, sparse_count, sparse_mode);
  exec_lightning_indexer_pto({query, key, weights, *actual_seq_lengths_key, *block_table}, sparse_count, out);
  return out;
}

}  // namespace

at::Tensor npu_lightning_indexer_pto_meta(const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                                          const std::optional<at::Tensor>& actual_seq_lengths_query,
                                          const std::optional<at::Tensor>& actual_seq_lengths_key,
                                          const std::optional<at::Tensor>& block_table, std::string_view layout_query,
                                          std::string_view layout_key, int64_t sparse_count, int64_t sparse_mode) {
  Arguments arguments("npu_lightning_indexer_pto");
  arguments.only("layout_query", layout_query, "BSND");
  arguments.only("layout_key", layout_key, "PA_BSND");
  arguments.only("sparse_mode", sparse_mode, 3);
  arguments.absent("actual_seq_lengths_query", actual_seq_lengths_query, "each query of the batch counts");
  arguments.tensor("query", query, at::kBFloat16, {"B", "S1", kHeads, kHeadDim});
  arguments.tensor("key", key, at::kBFloat16, {"block_num", kBlockSize, 1, kHeadDim});
  arguments.tensor("weights", weights, at::kBFloat16, {"B", "S1", kHeads});
  arguments.tensor("actual_seq_lengths_key", actual_seq_lengths_key, at::kInt, {"B"});
  arguments.tensor("block_table", block_table, at::kInt, {"B", "max_blocks"});
  arguments.between("B", 1, kMostBatches);
  arguments.between("S1", 1, kMostQueries);
  arguments.between("max_blocks", 1, kMostPages);
  TORCH_CHECK(sparse_count >= 1 && sparse_count <= kMostSelected, arguments.op(), ": sparse_count must be from 1 to ",
              kMostSelected, ", got ", sparse_count);
  return at::empty_symint({query.sym_size(0), query.sym_size(1), key.sym_size(2), sparse_count},
                          query.options().dtype(at::kInt));
}

}  // namespace custom_pypto

TORCH_LIBRARY_IMPL(custom_pypto, PrivateUse1, m) {
  m.impl("npu_lightning_indexer_pto", &custom_pypto::npu_lightning_indexer_pto_npu);
}

TORCH_LIBRARY_IMPL(custom_pypto, Meta, m) {
  m.impl("npu_lightning_indexer_pto", &custom_pypto::npu_lightning_indexer_pto_meta);
}

TORCH_LIBRARY_IMPL(custom_pypto, Autograd, m) {
  m.impl("npu_lightning_indexer_pto", torch::CppFunction::makeFromBoxedFunction<&custom_pypto::not_differentiable>());
}
