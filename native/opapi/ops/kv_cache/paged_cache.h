// native/opapi/ops/kv_cache/paged_cache.h
// Caches of keys and values in pages; `slot` counts tokens over all pages. A slot below 0 is not written.
#pragma once

#include "opapi/opapi.h"

namespace opwright::opapi::paged {

// A view of a cache as [pages, page size, ...] whose rows take one token's values in the shape of the other dimensions.
struct Pages {
  at::Tensor tokens;
};

// [pages, page size, N, D], or, if `heads_first`, [pages, N, page size, D].
inline Pages plain_pages(const at::Tensor& cache, bool heads_first = false) {
  return {heads_first ? cache.transpose(1, 2) : cache};
}

// Blocks of the joined heads, [pages, N * D / block, page size, block], or of each, [pages, N, D / block, page size,
// block].
inline Pages block_pages(const at::Tensor& cache) { return {cache.movedim(-2, 1)}; }

// A cache that is declared as [pages, page size, N, D], but holds blocks of the joined heads.
inline Pages blocks_declared_plain(const at::Tensor& cache) {
  constexpr int64_t kBlockBytes = 32;  // of the innermost dimension (NZ)
  const int64_t block = kBlockBytes / static_cast<int64_t>(cache.element_size());
  const int64_t blocks = divided(cache.size(2) * cache.size(3), block, "values of a block");
  return block_pages(cache.view({cache.size(0), blocks, cache.size(1), block}));
}

inline int64_t page_size_of(const at::Tensor& cache, const char* name) {
  require(cache.dim() == 4 && cache.size(1) > 0, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ",
          cache.sizes(), "; it must have 4 dimensions, and its pages, dimension 1, must hold tokens");
  return cache.size(1);
}

// The values of one token.
inline int64_t room(const Pages& pages) { return c10::multiply_integers(pages.tokens.sizes().slice(2)); }

inline void write(const Pages& pages, const at::Tensor& values, const at::Tensor& slots, const char* name) {
  const int64_t size = pages.tokens.size(1);
  const at::Tensor used = slots.ge(0).nonzero().squeeze(1);
  const at::Tensor slot = slots.index_select(0, used);
  if (slot.numel() == 0) return;
  const auto highest = slot.max().item<int64_t>();
  require(highest < pages.tokens.size(0) * size, ACLNN_ERR_PARAM_INVALID, "slot ", highest, " is beyond the ",
          pages.tokens.size(0), " pages of ", size, " tokens of '", name, "'");
  at::DimVector shape(pages.tokens.sizes().slice(1));
  shape[0] = slot.size(0);
  const at::Tensor rows = values.index_select(0, used).to(pages.tokens.scalar_type()).reshape(shape);
  at::Tensor tokens = pages.tokens;
  tokens.index_put_({slot.floor_divide(size), slot.remainder(size)}, rows);
}

}  // namespace opwright::opapi::paged
