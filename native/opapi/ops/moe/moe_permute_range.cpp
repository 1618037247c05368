// native/opapi/ops/moe/moe_permute_range.cpp
// Tokens in the order of their experts, and back, of which a rank has only the rows [first, last): the others are of
// experts on other ranks. Without a range all rows are there, and parameters of probabilities are not used.
#include "opapi/ops/moe/moe.h"

namespace {

using namespace opwright::opapi::moe;  // NOLINT: tables only

struct RowRange {
  int64_t first, last;
  bool given;
  int64_t rows() const { return last - first; }
};

RowRange rank_rows(at::OptionalIntArrayRef range, int64_t all) {
  if (!range || range->empty()) return {0, all, false};
  require(range->size() == 2 && range->front() >= 0 && range->front() <= range->back() && range->back() <= all,
          ACLNN_ERR_PARAM_INVALID, "parameter 'rangeOptional' is ", *range,
          "; it must be a beginning and an end within ", all, " rows");
  return {range->front(), range->back(), true};
}

void refuse_padding(bool padded) {
  require(!padded, ACLNN_ERR_PARAM_INVALID, "parameter 'paddedMode' is true; allowed: false");
}

// Where this rank has the row of each pair of token and choice; -1 for a row of another rank.
at::Tensor places_in(const at::Tensor& sorted_indices, const RowRange& range) {
  require_places(sorted_indices, "sortedIndices");
  const at::Tensor elsewhere = (sorted_indices < range.first).logical_or_(sorted_indices >= range.last);
  return (sorted_indices - range.first).masked_fill_(elsewhere, -1);
}

struct PermutedOutputs {
  at::Tensor &tokens, &sorted_indices, &probs;
};

void permute_range(const at::Tensor& tokens, const at::Tensor& indices, const OptionalTensor& probs,
                   at::OptionalIntArrayRef range_given, int64_t wanted, const PermutedOutputs& outputs) {
  require(tokens.dim() == 2 && (indices.dim() == 1 || indices.dim() == 2) && indices.size(0) == tokens.size(0),
          ACLNN_ERR_PARAM_INVALID, "parameters 'tokens' and 'indices' have the shapes ", tokens.sizes(), " and ",
          indices.sizes(), "; they must be [tokens, H], and [tokens] or [tokens, top-k]");
  const int64_t all = indices.numel(), kept = wanted > 0 ? std::min(wanted, all) : std::max<int64_t>(wanted + all, 0);
  const RowRange range = rank_rows(range_given, kept);
  const at::Tensor order = sorted_order(indices);
  assign(outputs.sorted_indices, inverse_order(order));
  const at::Tensor chosen = order.narrow(0, range.first, range.rows());
  const int64_t top_k = indices.dim() == 1 ? 1 : std::max<int64_t>(indices.size(1), 1);
  assign(outputs.tokens, tokens.index_select(0, chosen.floor_divide(top_k)));
  if (!range.given || !probs || !outputs.probs.defined()) return;
  assign(outputs.probs, probs->flatten().index_select(0, chosen));
}

void permute_range_backward(const at::Tensor& grad, const at::Tensor& sorted_indices, const OptionalTensor& probs_grad,
                            int64_t top_k, at::OptionalIntArrayRef range_given, at::Tensor& tokens_out,
                            at::Tensor& probs_out) {
  require(top_k > 0 && sorted_indices.numel() % top_k == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'numTopk' is ", top_k,
          "; it must divide the ", sorted_indices.numel(), " sorted indices");
  const RowRange range = rank_rows(range_given, sorted_indices.numel());
  const at::Tensor places = places_in(sorted_indices, range);
  assign(tokens_out, sum_of_rows(rows_at(grad, places), top_k, std::nullopt));
  if (!range.given || !probs_grad || !probs_out.defined()) return;
  assign(probs_out, rows_at(*probs_grad, places).view(probs_out.sizes()));
}

// The choices of a token: as many as it has weights. Without a range a token has one row if it has no weights.
int64_t choices_of(const OptionalTensor& probs, const at::Tensor& sorted_indices, const RowRange& range,
                   int64_t top_k) {
  if (!probs && !range.given) return 1;
  const int64_t choices = probs && probs->dim() == 2 ? probs->size(1) : top_k;
  require(choices > 0 && sorted_indices.numel() % choices == 0 && (!probs || probs->numel() == sorted_indices.numel()),
          ACLNN_ERR_PARAM_INVALID, "there are ", sorted_indices.numel(), " sorted indices, top-k ", choices,
          " and probabilities of shape ", probs ? probs->sizes() : at::IntArrayRef(),
          "; allowed: [tokens, top-k] of them, as many as there are sorted indices");
  return choices;
}

void unpermute_range(const at::Tensor& permuted, const at::Tensor& sorted_indices, const OptionalTensor& probs,
                     int64_t top_k, at::OptionalIntArrayRef range_given, at::Tensor& out) {
  const RowRange range = rank_rows(range_given, sorted_indices.numel());
  const int64_t choices = choices_of(probs, sorted_indices, range, top_k);
  assign(out, sum_of_rows(rows_at(permuted, places_in(sorted_indices, range)), choices, probs));
}

void unpermute_range_backward(const at::Tensor& grad, const at::Tensor& sorted_indices, const OptionalTensor& permuted,
                              const OptionalTensor& probs, int64_t top_k, at::OptionalIntArrayRef range_given,
                              at::Tensor& permuted_grad, at::Tensor& probs_grad) {
  const RowRange range = rank_rows(range_given, sorted_indices.numel());
  const int64_t choices = choices_of(probs, sorted_indices, range, top_k);
  require(grad.dim() == 2 && grad.size(0) * choices == sorted_indices.numel(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'unpermutedTokensGrad' has shape ", grad.sizes(), "; it must have ",
          sorted_indices.numel() / choices, " rows");
  const at::Tensor places = places_in(sorted_indices, range);
  const at::Tensor wide = grad.to(at::kFloat).unsqueeze(1).expand({-1, choices, -1});  // [tokens, top-k, columns]
  put_rows(permuted_grad, places, (probs ? wide * probs->unsqueeze(-1) : wide).flatten(0, 1));
  if (!probs || !probs_grad.defined()) return;
  require(permuted.has_value(), ACLNN_ERR_PARAM_NULLPTR,
          "parameter 'permutedTokensOptional' is null, but the gradient of probs needs it");
  const at::Tensor tokens = rows_at(*permuted, places).view(wide.sizes());
  assign(probs_grad, tokens.to(at::kFloat).mul(wide).sum(-1));
}

}  // namespace

ACLNN(MoeTokenPermuteWithEp,
      (In, tokens)(Index, indices)(OptIn, probsOptional)(OptInts, rangeOptional)(Int, numOutTokens)(Bool, paddedMode)(
          Out, permuteTokensOut)(OutIndex, sortedIndicesOut)(OptOut, permuteProbsOut),
      refuse_padding(paddedMode);
      permute_range(tokens, indices, probsOptional, rangeOptional, numOutTokens,
                    {permuteTokensOut, sortedIndicesOut, permuteProbsOut}))
ACLNN(MoeTokenPermuteWithEpGrad,
      (In, permutedTokensOutputGrad)(Index, sortedIndices)(OptIn, permutedProbsOutputGradOptional)(Int, numTopk)(
          OptInts, rangeOptional)(Bool, paddedMode)(Out, tokenGradOut)(OptOut, probsGradOut),
      refuse_padding(paddedMode);
      permute_range_backward(permutedTokensOutputGrad, sortedIndices, permutedProbsOutputGradOptional, numTopk,
                             rangeOptional, tokenGradOut, probsGradOut))
ACLNN(MoeTokenUnpermuteWithEp,
      (In, permutedTokens)(Index, sortedIndices)(OptIn, probsOptional)(Int, numTopk)(OptInts, rangeOptional)(
          Bool, paddedMode)(OptInts, restoreShapeOptional)(Out, out),
      refuse_padding(paddedMode);
      unpermute_range(permutedTokens, sortedIndices, probsOptional, numTopk, rangeOptional, out))
ACLNN(MoeTokenUnpermuteWithEpGrad,
      (In, unpermutedTokensGrad)(Index, sortedIndices)(OptIn, permutedTokensOptional)(OptIn, probsOptional)(Bool,
                                                                                                            paddedMode)(
          OptInts, restoreShapeOptional)(OptInts,
                                         rangeOptional)(Int, topkNum)(Out, permutedTokensGradOut)(OptOut, probsGradOut),
      refuse_padding(paddedMode);
      unpermute_range_backward(unpermutedTokensGrad, sortedIndices, permutedTokensOptional, probsOptional, topkNum,
                               rangeOptional, permutedTokensGradOut, probsGradOut))
