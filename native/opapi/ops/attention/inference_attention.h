// native/opapi/ops/attention/inference_attention.h
// Shared by the functions of attention for inference; fused_infer_attention.cpp has the computation.
#pragma once

#include "opapi/ops/attention/attention.h"
#include "opapi/ops/common/refusal.h"

namespace opwright::opapi::attention::inference {

struct Operands {
  const at::Tensor& query;
  const std::vector<at::Tensor>&key, &value;
  const OptionalTensor &pse, &mask, &block_table, &query_padding, &key_padding, &key_prefix, &value_prefix, &query_rope,
      &key_rope, &sink;
  at::OptionalIntArrayRef query_lengths, key_lengths, prefix_length;
};

struct Options {
  int64_t heads;
  double scale;
  Sparsity sparsity;
  const std::string& layout;
  int64_t key_heads;
  int64_t page_size;
  bool wants_lse;
  int64_t pse_type = 0;
  bool decodes = true;  // single queries are the last tokens of their sequences
};

// Refuses the tensors of quantised attention that are given; writes 0 where there are no queries.
void attend(const Operands& operands, Options options, std::initializer_list<NamedTensor> unavailable, at::Tensor& out,
            at::Tensor& softmax_lse);

}  // namespace opwright::opapi::attention::inference
