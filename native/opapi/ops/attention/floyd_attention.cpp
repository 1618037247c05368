// native/opapi/ops/attention/floyd_attention.cpp
// Attention on triangles, with its gradient: query (i, k) attends over j to the keys (i, j) and (j, k) together.
// Tensors [B, H, I, K, D], [B, H, I, J, D] and [B, H, J, K, D]. Computed in float32.

#include "opapi/opapi.h"

namespace {

struct FloydOperands {
  const at::Tensor &query, &key1, &value1, &key2, &value2;
  const OptionalTensor& mask;
  double scale;
};

void check(const FloydOperands& operands) {
  const at::Tensor& query = operands.query;
  const auto sizes_agree = [&](const at::Tensor& tensor, int64_t kept) {
    return tensor.dim() == 5 && tensor.size(0) == query.size(0) && tensor.size(1) == query.size(1) &&
           tensor.size(kept) == query.size(kept) && tensor.size(4) == query.size(4);
  };
  require(query.dim() == 5 && sizes_agree(operands.key1, 2) && sizes_agree(operands.key2, 3) &&
              operands.key1.size(3) == operands.key2.size(2) && operands.value1.sizes() == operands.key1.sizes() &&
              operands.value2.sizes() == operands.key2.sizes(),
          ACLNN_ERR_PARAM_INVALID, "query, key1, value1, key2 and value2 have shapes ", query.sizes(), ", ",
          operands.key1.sizes(), ", ", operands.value1.sizes(), ", ", operands.key2.sizes(), " and ",
          operands.value2.sizes(), "; they must be [B, H, I, K, D], twice [B, H, I, J, D] and twice [B, H, J, K, D]");
}

// [B, H, J, K, D] -> [B, H, K, J, D]
at::Tensor by_column(const at::Tensor& tensor) { return tensor.transpose(2, 3); }

// rows [B, H, I, K, D] with both kinds of matrices -> [B, H, I, K, J]
at::Tensor along_both(const at::Tensor& rows, const at::Tensor& first, const at::Tensor& second) {
  const at::Tensor by_row = rows.matmul(first.transpose(3, 4));
  return by_row.add(by_column(by_column(rows).matmul(by_column(second).transpose(3, 4))));
}

// weights [B, H, I, K, J] times both kinds of values -> [B, H, I, K, D]
at::Tensor summed(const at::Tensor& weights, const at::Tensor& first, const at::Tensor& second) {
  return weights.matmul(first).add(by_column(by_column(weights).matmul(by_column(second))));
}

at::Tensor scores_of(const FloydOperands& operands) {
  at::Tensor scores =
      along_both(to_float(operands.query), to_float(operands.key1), to_float(operands.key2)).mul_(operands.scale);
  if (operands.mask) scores.masked_fill_(operands.mask->to(at::kBool), -kInfinity);
  return scores;
}

// Statistics are repeated over a block of 8. A query that sees nothing gets zeros.
void attend(const FloydOperands& operands, at::Tensor& highest_out, at::Tensor& sum_out, at::Tensor& out) {
  check(operands);
  at::Tensor weights = scores_of(operands);
  at::Tensor highest = weights.amax(4, true);
  highest.masked_fill_(highest.eq(-kInfinity), 0);
  weights.sub_(highest).exp_();
  at::Tensor sum = weights.sum(4, true);
  sum.masked_fill_(sum.eq(0), 1);
  assign(out, summed(weights.div_(sum), to_float(operands.value1), to_float(operands.value2)));
  highest_out.copy_(highest.expand(highest_out.sizes()));
  sum_out.copy_(sum.expand(sum_out.sizes()));
}

struct FloydGradientOutputs {
  at::Tensor &query, &key1, &value1, &key2, &value2;
};

void attend_backward(const FloydOperands& operands, const at::Tensor& grad, const at::Tensor& highest,
                     const at::Tensor& sum, const FloydGradientOutputs& outputs) {
  check(operands);
  const at::Tensor weights = scores_of(operands).sub_(highest.narrow(4, 0, 1)).exp_().div_(sum.narrow(4, 0, 1));
  const at::Tensor by_out = to_float(grad), query = to_float(operands.query);
  at::Tensor by_scores = along_both(by_out, to_float(operands.value1), to_float(operands.value2));
  by_scores.sub_(by_scores.mul(weights).sum(4, true)).mul_(weights).mul_(operands.scale);
  assign(outputs.query, summed(by_scores, to_float(operands.key1), to_float(operands.key2)));
  // To [B, H, I, J, D], and to [B, H, J, K, D].
  const auto to_first = [](const at::Tensor& scores, const at::Tensor& rows) {
    return scores.transpose(3, 4).matmul(rows);
  };
  const auto to_second = [&](const at::Tensor& scores, const at::Tensor& rows) {
    return by_column(by_column(scores).transpose(3, 4).matmul(by_column(rows)));
  };
  assign(outputs.key1, to_first(by_scores, query));
  assign(outputs.value1, to_first(weights, by_out));
  assign(outputs.key2, to_second(by_scores, query));
  assign(outputs.value2, to_second(weights, by_out));
}

}  // namespace

ACLNN(FusedFloydAttention,
      (In, query)(In, key1)(In, value1)(In, key2)(In, value2)(OptIn, attenMaskOptional)(Double, scaleValueOptional)(
          Out, softmaxMaxOut)(Out, softmaxSumOut)(Out, attentionOutOut),
      attend({query, key1, value1, key2, value2, attenMaskOptional, scaleValueOptional}, softmaxMaxOut, softmaxSumOut,
             attentionOutOut))
ACLNN(FusedFloydAttentionGrad,
      (In, query)(In, key1)(In, value1)(In, key2)(In, value2)(In, dy)(OptIn, attenMaskOptional)(In, softmaxMax)(
          In, softmaxSum)(In, attentionIn)(Double,
                                           scaleValue)(Out, dqOut)(Out, dk1Out)(Out, dv1Out)(Out, dk2Out)(Out, dv2Out),
      attend_backward({query, key1, value1, key2, value2, attenMaskOptional, scaleValue}, dy, softmaxMax, softmaxSum,
                      {dqOut, dk1Out, dv1Out, dk2Out, dv2Out}))
