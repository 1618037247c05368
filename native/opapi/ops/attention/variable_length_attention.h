// native/opapi/ops/attention/variable_length_attention.h
// Attention with its gradient for sequences of different lengths, packed one after the other: layout TND. Each sequence
// attends to itself only.
#pragma once

#include <string>

#include "opapi/ops/attention/attention.h"

namespace opwright::opapi::attention {

struct VariableLengthOptions {
  at::OptionalIntArrayRef prefix, query_ends, key_ends;
  double scale;
  double keep_prob;
  Sparsity sparsity;
  int64_t heads;
  const std::string& layout;
  const std::string& statistics_layout;
};

struct VariableLengthOperands {
  const at::Tensor &query, &key, &value;
  const OptionalTensor &pse, &drop_mask, &mask, &sink, &query_rope, &key_rope;
};

struct VariableLengthGradientOutputs {
  at::Tensor &query, &key, &value, &sink;
};

void attend_sequences(const VariableLengthOperands& operands, const VariableLengthOptions& options,
                      at::Tensor& softmax_max, at::Tensor& softmax_sum, at::Tensor& out);
void attend_sequences_backward(const VariableLengthOperands& operands, const VariableLengthOptions& options,
                               const at::Tensor& dy, const OptionalTensor& softmax_max,
                               const OptionalTensor& softmax_sum, const VariableLengthGradientOutputs& outputs);

}  // namespace opwright::opapi::attention

// VariableLengthOptions of a table's parameters, which have these names in all versions.
#define OPWRIGHT_SEQUENCE_OPTIONS(STATISTICS_LAYOUT) \
  {prefixOptional,                                   \
   actualSeqQLenOptional,                            \
   actualSeqKvLenOptional,                           \
   scaleValue,                                       \
   keepProb,                                         \
   {sparseMode, preTokens, nextTokens},              \
   headNum,                                          \
   inputLayout,                                      \
   STATISTICS_LAYOUT}
