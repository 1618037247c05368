// native/sparse_attention/attention/checks.h
// Checks of operands in both forms of sparse attention. They throw 161002 with the name of the parameter, what it
// is, and what is allowed.
#pragma once

#include "sparse_attention/sparse_flash_attention.h"

namespace opwright::sparse {

void require_query(const at::Tensor& query, int64_t columns);
void require_options(const SparseAttentionOptions& options, const Batch& batch, const at::Tensor& key);
// As [rows, K].
at::Tensor checked_indices(const at::Tensor& indices, const at::Tensor& query);
at::Tensor checked_sinks(const OptionalTensor& sinks, const at::Tensor& query);
// Keys, or what lies as they do, with columns one after the other.
at::Tensor checked_cache(const at::Tensor& cache, const char* name, const at::Tensor& key, int64_t columns);
void require_out(const at::Tensor& out, const at::Tensor& query);

}  // namespace opwright::sparse
