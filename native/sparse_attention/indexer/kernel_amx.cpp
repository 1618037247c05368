// native/sparse_attention/indexer/kernel_amx.cpp
// The score kernel for CPUs with tile registers, which oneDNN knows to use: products of a few keys go through the
// first-level cache.
#include <ATen/Context.h>
#include <ATen/native/CPUBlas.h>

#include <algorithm>
#include <cstring>

#include "sparse_attention/indexer/kernels.h"

namespace opwright::sparse {

namespace {

constexpr int64_t kKeys = 48;  // three tiles

void gather(const char* const* rows, int64_t count, char* out) {
  constexpr int64_t kBytes = 2 * kHeadSize;
  for (int64_t row = 0; row < count; ++row) std::memcpy(out + row * kBytes, rows[row], kBytes);
}

void amx_scores(const PackedQuery& query, const char* const* keys, int64_t count, float* scores) {
  alignas(64) float products[kKeys * kMostHeads];
  const auto* const values = static_cast<const at::BFloat16*>(query.values);
  for (int64_t i = 0; i < count; i += kKeys) {
    const int64_t some = std::min(kKeys, count - i);
    at::native::cpublas::brgemm(some, query.heads, kHeadSize, kHeadSize, query.heads, query.heads, /*add_C=*/false,
                                reinterpret_cast<const at::BFloat16*>(keys[i]), values, products);
    add_heads_avx512(products, some, query, scores + i);
  }
  at::native::cpublas::brgemm_release();
}

constexpr ScoreKernel kBfloat16{16, kMostHeads, 2, false, false, gather, amx_scores};

}  // namespace

const ScoreKernel* score_amx(KeyType type) {
  // Without oneDNN, which a program may switch off, ATen has no such product.
  const bool available = at::hasMKLDNN() && at::globalContext().userEnabledMkldnn();
  return type == KeyType::kBfloat16 && available ? &kBfloat16 : nullptr;
}

}  // namespace opwright::sparse
