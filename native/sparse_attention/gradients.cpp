// native/sparse_attention/gradients.cpp
#include "sparse_attention/gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "aclnn/acl_meta.h"

namespace opwright::sparse {

namespace {

const OptionalTensor kNone;

Batch batch_of(const at::Tensor& query, const at::Tensor& key, const OptionalTensor& query_lengths,
               const OptionalTensor& key_lengths, const std::string& layout, const char* lengths_name) {
  const bool packed = layout == "TND";
  require(key.dim() == query.dim() && (packed || key.size(0) == query.size(0)), ACLNN_ERR_PARAM_INVALID,
          "parameter 'key' has shape ", key.sizes(), " and parameter 'query' ", query.sizes(),
          "; gradients are available for keys in the query's layout, not for pages");
  return read_batch({query, key, query_lengths, key_lengths, kNone, layout, layout, lengths_name});
}

void require_shape(const at::Tensor& tensor, at::IntArrayRef sizes, const char* name) {
  require(tensor.sizes() == sizes, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ", tensor.sizes(),
          "; it must be ", sizes);
}

// [B, S, ...] or [T, ...] as [rows, ...].
at::Tensor rows_of(const at::Tensor& tensor, const Batch& batch) {
  return batch.query_layout == Layout::kTnd ? tensor : tensor.flatten(0, 1);
}

// The tokens of a sequence, [keys, D].
at::Tensor tokens_of(const at::Tensor& tensor, const Sequence& sequence, Layout layout) {
  const at::Tensor all = layout == Layout::kTnd ? tensor : tensor.select(0, sequence.index);
  return all.narrow(0, sequence.first_key, sequence.keys).squeeze(1);
}

at::Tensor whole(const at::Tensor& tensor) { return tensor.to(at::kFloat); }

// Which tokens the indices of a query name, of the `seen` that it sees.
at::Tensor named_tokens(const at::Tensor& row, int64_t seen, int64_t block_size) {
  const at::Tensor indices = row.contiguous();
  std::vector<int32_t> tokens;
  select_tokens({indices.const_data_ptr<int32_t>(), static_cast<size_t>(indices.numel())}, seen, block_size, tokens);
  return at::tensor(tokens, at::kLong);
}

// The keys that an indexer selected.
at::Tensor selected_keys(const at::Tensor& row, const Sequence& sequence) {
  const at::Tensor indices = row.to(at::kLong);
  const at::Tensor found = indices.masked_select(indices.ge(0));
  require(found.numel() == 0 || found.max().item<int64_t>() < sequence.keys, ACLNN_ERR_PARAM_INVALID,
          "parameter 'sparse_indices' names a key behind the ", sequence.keys, " of its sequence");
  return found;
}

}  // namespace

void lightning_indexer_grad(const IndexerGradOperands& operands, const std::string& layout,
                            const IndexerGradients& gradients) {
  const Batch batch = batch_of(operands.query, operands.key, operands.query_lengths, operands.key_lengths, layout,
                               "actual_seq_lengths_key");
  require(operands.grad.numel() > 0, ACLNN_ERR_PARAM_INVALID,
          "parameter 'dy' is empty; for gradients, call npu_lightning_indexer with return_value=True");
  require_shape(operands.grad, operands.indices.sizes(), "dy");
  const at::Tensor query = rows_of(operands.query, batch), weights = rows_of(operands.weights, batch);
  const at::Tensor indices = rows_of(operands.indices, batch).squeeze(1);
  const at::Tensor grad = rows_of(operands.grad, batch).squeeze(1);
  at::Tensor by_query = at::zeros(query.sizes(), at::kFloat), by_weights = at::zeros(weights.sizes(), at::kFloat);
  at::Tensor by_key = at::zeros(operands.key.sizes(), at::kFloat);
  for (const Sequence& sequence : batch.sequences) {
    const at::Tensor keys = whole(tokens_of(operands.key, sequence, batch.key_layout));
    at::Tensor by_keys = tokens_of(by_key, sequence, batch.key_layout);
    for (int64_t i = sequence.first_query; i < sequence.first_query + sequence.queries; ++i) {
      const at::Tensor chosen = selected_keys(indices[i], sequence);
      if (chosen.numel() == 0) continue;
      const at::Tensor vectors = keys.index_select(0, chosen), heads = whole(query[i]);
      const at::Tensor by_score = whole(grad[i].narrow(0, 0, chosen.numel()));
      const at::Tensor products = heads.mm(vectors.t());
      const at::Tensor by_product = whole(weights[i]).unsqueeze(1) * by_score * products.gt(0);
      by_weights[i].copy_(products.relu().mv(by_score));
      by_query[i].copy_(by_product.mm(vectors));
      by_keys.index_add_(0, chosen, by_product.t().mm(heads));
    }
  }
  rows_of(gradients.query, batch).copy_(by_query);
  rows_of(gradients.weights, batch).copy_(by_weights);
  gradients.key.copy_(by_key);
}

namespace {

// Latent part and rope part of each token as one vector, float32.
at::Tensor joined(const at::Tensor& latent, const OptionalTensor& rope) {
  return rope ? at::cat({whole(latent), whole(*rope)}, -1) : whole(latent);
}

void split(const at::Tensor& joined, at::Tensor& latent, at::Tensor* rope) {
  const int64_t columns = latent.size(-1);
  latent.copy_(joined.narrow(-1, 0, columns));
  if (rope != nullptr) rope->copy_(joined.narrow(-1, columns, rope->size(-1)));
}

}  // namespace

void sparse_flash_attention_grad(const AttentionGradOperands& operands, const AttentionGradOptions& options,
                                 const AttentionGradients& gradients) {
  require_sparse_mode(options.sparse_mode);
  require(options.block_size > 0, ACLNN_ERR_PARAM_INVALID, "parameter 'sparse_block_size' is ", options.block_size,
          "; it must be positive");
  require(operands.highest.numel() > 0 && operands.sum.numel() > 0, ACLNN_ERR_PARAM_INVALID,
          "parameters 'softmax_max' and 'softmax_sum' are empty; for gradients, call npu_sparse_flash_attention with "
          "return_softmax_lse=True");
  require(operands.query_rope.has_value() == operands.key_rope.has_value(), ACLNN_ERR_PARAM_INVALID,
          "one of parameters 'query_rope' and 'key_rope' is given; they go together");
  const Batch batch = batch_of(operands.query, operands.key, operands.query_lengths, operands.key_lengths,
                               options.layout, "actual_seq_lengths_kv");
  const at::Tensor& value = operands.value ? *operands.value : operands.key;
  const at::Tensor query = rows_of(joined(operands.query, operands.query_rope), batch);
  const at::Tensor key = joined(operands.key, operands.key_rope);
  const at::Tensor indices = rows_of(operands.indices, batch).squeeze(1);
  const at::Tensor grad = rows_of(operands.grad, batch), out = rows_of(operands.out, batch);
  const int64_t heads = query.size(1);
  const at::Tensor highest = operands.highest.reshape({-1, heads, 1}), sum = operands.sum.reshape({-1, heads, 1});
  require(highest.size(0) == query.size(0) && sum.size(0) == query.size(0), ACLNN_ERR_PARAM_INVALID,
          "parameters 'softmax_max' and 'softmax_sum' have shapes ", operands.highest.sizes(), " and ",
          operands.sum.sizes(), "; they must have a number for each query and head");
  at::Tensor by_query = at::zeros_like(query), by_key = at::zeros_like(key);
  at::Tensor by_value = at::zeros(value.sizes(), at::kFloat);
  for (const Sequence& sequence : batch.sequences) {
    const at::Tensor keys = tokens_of(key, sequence, batch.key_layout);
    const at::Tensor values = whole(tokens_of(value, sequence, batch.key_layout));
    at::Tensor by_keys = tokens_of(by_key, sequence, batch.key_layout);
    at::Tensor by_values = tokens_of(by_value, sequence, batch.key_layout);
    for (int64_t i = 0; i < sequence.queries; ++i) {
      const int64_t row = sequence.first_query + i;
      const at::Tensor chosen =
          named_tokens(indices[row], sequence.visible(i, options.sparse_mode), options.block_size);
      if (chosen.numel() == 0) continue;
      const at::Tensor vectors = keys.index_select(0, chosen), by_out = whole(grad[row]);
      const at::Tensor weights = ((query[row].mm(vectors.t()) * options.scale - highest[row]).exp() / sum[row]);
      const at::Tensor by_weight = by_out.mm(values.index_select(0, chosen).t());
      const at::Tensor shared = (by_out * whole(out[row])).sum(-1, true);
      const at::Tensor by_score = weights * (by_weight - shared) * options.scale;
      by_query[row].copy_(by_score.mm(vectors));
      by_keys.index_add_(0, chosen, by_score.t().mm(query[row]));
      by_values.index_add_(0, chosen, weights.t().mm(by_out));
    }
  }
  if (gradients.value == nullptr) {
    by_key.narrow(-1, 0, value.size(-1)).add_(by_value);
  } else {
    gradients.value->copy_(by_value);
  }
  at::Tensor query_gradient = rows_of(gradients.query, batch);
  if (gradients.query_rope != nullptr) {
    at::Tensor rope = rows_of(*gradients.query_rope, batch);
    split(by_query, query_gradient, &rope);
  } else {
    split(by_query, query_gradient, nullptr);
  }
  split(by_key, gradients.key, gradients.key_rope);
}

}  // namespace opwright::sparse
