// native/sparse_attention/attention/sparse_flash_attention.cpp
#include "sparse_attention/sparse_flash_attention.h"

#include <ATen/ops/empty.h>

#include "aclnn/acl_meta.h"
#include "sparse_attention/attention/checks.h"
#include "sparse_attention/attention/rows.h"

namespace opwright::sparse {

namespace {

// As [rows, N, D] with columns one after the other.
at::Tensor by_row(const at::Tensor& tensor) { return tensor.contiguous().view({-1, tensor.size(-2), tensor.size(-1)}); }

void require_dtype(const at::Tensor& tensor, const char* name, const at::Tensor& query) {
  require(tensor.scalar_type() == query.scalar_type(), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has dtype ",
          tensor.scalar_type(), "; it must be that of the query, ", query.scalar_type());
}

// Both or neither.
void require_ropes(const SparseAttentionOperands& operands) {
  const OptionalTensor &query = operands.query_rope, &key = operands.key_rope;
  require(query.has_value() == key.has_value(), ACLNN_ERR_PARAM_INVALID, "parameter '",
          query ? "key_rope" : "query_rope", "' is absent; query_rope and key_rope go together");
  if (!query) return;
  at::DimVector shape(operands.query.sizes());
  shape.back() = kRope;
  require(query->sizes() == at::IntArrayRef(shape), ACLNN_ERR_PARAM_INVALID, "parameter 'query_rope' has shape ",
          query->sizes(), "; it must be ", at::IntArrayRef(shape));
  require_dtype(*query, "query_rope", operands.query);
  require_dtype(*key, "key_rope", operands.query);
}

// A contiguous tensor of float32 [rows, N] to compute into: the caller's memory where it is that.
at::Tensor statistic(const at::Tensor* wanted, const at::Tensor& query) {
  const int64_t heads = query.size(-2), rows = query.numel() / (heads * query.size(-1));
  if (wanted == nullptr) return at::empty({rows, heads}, query.options().dtype(at::kFloat));
  return wanted->view({rows, heads});
}

// float32 [B, 1, S, N], whose order in memory is that of [rows, N]. Other shapes of as many elements are taken too:
// torch_npu counts key heads along the wrong dimension where the key is paged.
void require_statistic(const at::Tensor* wanted, const char* name, const at::Tensor& query, bool is_paged) {
  if (wanted == nullptr) return;
  at::DimVector shape(query.sizes().slice(0, query.dim() - 1));
  const int64_t count = c10::multiply_integers(shape);
  shape.insert(shape.end() - 2, 1);
  require(!is_paged || query.dim() == 4 || wanted->numel() == count, ACLNN_ERR_PARAM_INVALID,
          "return_softmax_lse with layout_query TND and layout_kv PA_BSND: parameter '", name, "' has shape ",
          wanted->sizes(), ", not ", at::IntArrayRef(shape),
          "; torch_npu itself allocates it so, with key.size(1), the page size, for the number of key heads; give "
          "queries in layout BSND instead");
  require(wanted->scalar_type() == at::kFloat && wanted->numel() == count && wanted->is_contiguous(),
          ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is ", wanted->scalar_type(), wanted->sizes(),
          "; it must be a contiguous float32 ", at::IntArrayRef(shape));
}

}  // namespace

void sparse_flash_attention(const SparseAttentionOperands& operands, const SparseAttentionOptions& options,
                            at::Tensor& out, const Statistics& statistics) {
  const at::Tensor &query = operands.query, &key = operands.key;
  require_query(query, kLatent);
  const Batch batch = read_batch({query, key, operands.query_lengths, operands.key_lengths, operands.block_table,
                                  options.query_layout, options.key_layout, "actual_seq_lengths_kv", "layout_kv"});
  require_options(options, batch, key);
  require_dtype(key, "key", query);
  require_dtype(operands.value, "value", query);
  require_ropes(operands);
  require_out(out, query);
  const bool is_paged = batch.key_layout == Layout::kPaged;
  require_statistic(statistics.highest, "softmax_max", query, is_paged);
  require_statistic(statistics.sum, "softmax_sum", query, is_paged);
  const at::Tensor keys = checked_cache(key, "key", key, kLatent);
  const at::Tensor values = checked_cache(operands.value, "value", key, kLatent);
  const at::Tensor ropes = operands.key_rope ? checked_cache(*operands.key_rope, "key_rope", key, kRope) : at::Tensor();
  AttentionProblem problem{batch,
                           by_row(query),
                           operands.query_rope ? by_row(*operands.query_rope) : at::Tensor(),
                           checked_indices(operands.indices, query),
                           checked_sinks(operands.sinks, query),
                           options,
                           {}};
  for (const Sequence& sequence : batch.sequences) {
    const auto rows = [&](const at::Tensor& cache) { return Rows(cache, batch.key_layout, sequence); };
    problem.sources.push_back(
        {rows(keys), rows(values), ropes.defined() ? std::optional(rows(ropes)) : std::nullopt, std::nullopt});
  }
  at::Tensor highest = statistic(statistics.highest, query), sum = statistic(statistics.sum, query);
  at::Tensor result = out.is_contiguous() ? out : at::empty(out.sizes(), out.options());
  at::Tensor result_rows = result.view({-1, out.size(-2), kLatent});
  attend_rows(problem, result_rows, {&highest, &sum});
  if (!result.is_same(out)) out.copy_(result);
}

}  // namespace opwright::sparse
