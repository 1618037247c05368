// native/sparse_attention/attention/kv_quant_sparse_flash_attention.cpp
// A token of a quantised cache is 656 bytes: 512 values, 64 columns of the rope part in the query's dtype, and a
// float32 scale for each 128 values.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "aclnn/acl_meta.h"
#include "sparse_attention/attention/checks.h"
#include "sparse_attention/attention/rows.h"

namespace opwright::sparse {

namespace {

constexpr int64_t kTokenBytes = kLatent + 2 * kRope + 16;

Code code_of(const at::Tensor& key) {
  require(key.scalar_type() == at::kChar || key.scalar_type() == at::kFloat8_e4m3fn, ACLNN_ERR_PARAM_INVALID,
          "parameter 'key' has dtype ", key.scalar_type(), "; it must be int8 or float8_e4m3fn");
  return key.scalar_type() == at::kChar ? Code::kInt8 : Code::kFloat8;
}

}  // namespace

void kv_quant_sparse_flash_attention(const QuantizedSparseAttentionOperands& operands,
                                     const SparseAttentionOptions& options, at::Tensor& out) {
  const at::Tensor &query = operands.query, &key = operands.key;
  require_query(query, kLatent + kRope);
  const Code code = code_of(key);
  require(operands.value.scalar_type() == key.scalar_type(), ACLNN_ERR_PARAM_INVALID, "parameter 'value' has dtype ",
          operands.value.scalar_type(), "; it must be that of the key, ", key.scalar_type());
  const Batch batch = read_batch({query, key, operands.query_lengths, operands.key_lengths, operands.block_table,
                                  options.query_layout, options.key_layout, "actual_seq_lengths_kv", "layout_kv"});
  require_options(options, batch, key);
  require_out(out, query);
  const at::Tensor tokens = checked_cache(key, "key", key, kTokenBytes);
  checked_cache(operands.value, "value", key, kTokenBytes);
  const at::Tensor rows = query.contiguous().view({-1, query.size(-2), kLatent + kRope});
  AttentionProblem problem{batch,
                           rows.narrow(2, 0, kLatent),
                           rows.narrow(2, kLatent, kRope),
                           checked_indices(operands.indices, query),
                           checked_sinks(operands.sinks, query),
                           options,
                           {}};
  for (const Sequence& sequence : batch.sequences) {
    const Rows source(tokens, batch.key_layout, sequence);
    problem.sources.push_back({source, source, std::nullopt, code});
  }
  at::Tensor highest = at::empty({rows.size(0), rows.size(1)}, query.options().dtype(at::kFloat));
  at::Tensor sum = at::empty_like(highest);
  at::Tensor result = out.is_contiguous() ? out : at::empty(out.sizes(), out.options());
  at::Tensor result_rows = result.view({-1, out.size(-2), kLatent});
  attend_rows(problem, result_rows, {&highest, &sum});
  if (!result.is_same(out)) out.copy_(result);
}

}  // namespace opwright::sparse
