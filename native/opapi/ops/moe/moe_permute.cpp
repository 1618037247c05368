// native/opapi/ops/moe/moe_permute.cpp
// Tokens in the order of their experts, and back. `indices` [tokens, top-k] are the experts of each token; row
// sortedIndices[token * top-k + choice] of the permuted tokens is that token, unless it is dropped: then there is no
// such row. Sums are computed in float32 and rounded once.
#include "opapi/ops/moe/moe.h"

namespace {

using namespace opwright::opapi::moe;  // NOLINT: tables only

constexpr char kSortedIndices[] = "sortedIndices";

void refuse_padded(bool padded) {
  require(!padded, ACLNN_ERR_PARAM_INVALID, "parameter 'paddedMode' is true; allowed: false");
}

// How many rows are kept. Nothing is dropped for 0; negative numbers count from the end, as in a slice.
int64_t kept_rows(int64_t wanted, int64_t all) {
  return wanted > 0 ? std::min(wanted, all) : std::max<int64_t>(wanted + all, 0);
}

void permute(const at::Tensor& tokens, const at::Tensor& indices, int64_t wanted, at::Tensor& out,
             at::Tensor& sorted_indices) {
  require(tokens.dim() >= 2 && (indices.dim() == 1 || indices.dim() == 2) && indices.size(0) == tokens.size(0),
          ACLNN_ERR_PARAM_INVALID, "parameter 'indices' has shape ", indices.sizes(),
          "; it must be [tokens] or [tokens, top-k] for tokens of shape ", tokens.sizes());
  const at::Tensor order = sorted_order(indices);
  const int64_t top_k = indices.dim() == 1 ? 1 : indices.size(1), kept = kept_rows(wanted, order.numel());
  assign(sorted_indices, inverse_order(order));
  require(out.size(0) == kept, ACLNN_ERR_PARAM_INVALID, "the output has ", out.size(0), " rows, but ", kept,
          " tokens are kept");
  const at::Tensor chosen = order.narrow(0, 0, kept).floor_divide(std::max<int64_t>(top_k, 1));
  at::Tensor rows = out.flatten(1);
  assign(rows, tokens.flatten(1).index_select(0, chosen));
}

void permute_backward(const at::Tensor& grad, const at::Tensor& sorted_indices, int64_t top_k, at::Tensor& out) {
  require(top_k > 0 && sorted_indices.numel() % top_k == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'numTopk' is ", top_k,
          "; it must divide the ", sorted_indices.numel(), " sorted indices");
  require_places(sorted_indices, kSortedIndices);
  at::Tensor rows = out.flatten(1);
  assign(rows, sum_of_rows(rows_at(grad.flatten(1), sorted_indices), top_k, std::nullopt));
}

// The top-k of weights, which are one if there are none.
int64_t width(const OptionalTensor& probs, const at::Tensor& sorted_indices) {
  if (!probs) return 1;
  require(probs->dim() == 2 && probs->numel() == sorted_indices.numel(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'probsOptional' has shape ", probs->sizes(), "; it must be [tokens, top-k] with ",
          sorted_indices.numel(), " elements, as sortedIndices");
  return std::max<int64_t>(probs->size(1), 1);
}

void unpermute(const at::Tensor& permuted, const at::Tensor& sorted_indices, const OptionalTensor& probs,
               at::Tensor& out) {
  const int64_t top_k = width(probs, sorted_indices);
  require_places(sorted_indices, kSortedIndices);
  assign(out, sum_of_rows(rows_at(permuted, sorted_indices), top_k, probs));
}

void unpermute_backward(const OptionalTensor& permuted, const at::Tensor& grad, const at::Tensor& sorted_indices,
                        const OptionalTensor& probs, at::Tensor& permuted_grad, at::Tensor& probs_grad) {
  const int64_t top_k = width(probs, sorted_indices);
  require(grad.size(0) * top_k == sorted_indices.numel(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'unpermutedTokensGrad' has shape ", grad.sizes(), "; it must have ",
          sorted_indices.numel() / top_k, " rows");
  require_places(sorted_indices, kSortedIndices);
  if (!probs) {
    put_rows(permuted_grad, sorted_indices, grad);
    return;
  }
  const at::Tensor wide = grad.to(at::kFloat).unsqueeze(1);  // [tokens, 1, columns]
  put_rows(permuted_grad, sorted_indices, (wide * probs->unsqueeze(-1)).flatten(0, 1));
  if (!probs_grad.defined()) return;
  require(permuted.has_value(), ACLNN_ERR_PARAM_NULLPTR,
          "parameter 'permuteTokensOptional' is null, but the gradient of probs needs it");
  const at::Tensor tokens = rows_at(*permuted, sorted_indices).view({grad.size(0), top_k, grad.size(1)});
  assign(probs_grad, at::bmm(tokens.to(at::kFloat), wide.transpose(1, 2)).squeeze(-1));
}

}  // namespace

ACLNN(MoeTokenPermute,
      (In, tokens)(Index, indices)(Int, numOutTokens)(Bool, paddedMode)(Out, permuteTokensOut)(OutIndex,
                                                                                               sortedIndicesOut),
      refuse_padded(paddedMode);
      permute(tokens, indices, numOutTokens, permuteTokensOut, sortedIndicesOut))
// Quantization is for Ascend950; other chips ignore what asks for it.
ACLNN(MoeTokenPermuteV2,
      (In, tokens)(Index, indices)(Int, numOutTokens)(Bool, paddedMode)(Int, quantMode)(Out, permuteTokensOut)(
          OutIndex, sortedIndicesOut)(OptOut, expandedScaleOut),
      refuse_padded(paddedMode);
      permute(tokens, indices, numOutTokens, permuteTokensOut, sortedIndicesOut))
ACLNN(MoeTokenPermuteGrad, (In, permutedOutputGrad)(Index, sortedIndices)(Int, numTopk)(Bool, paddedMode)(Out, out),
      refuse_padded(paddedMode);
      permute_backward(permutedOutputGrad, sortedIndices, numTopk, out))
ACLNN(MoeTokenUnpermute,
      (In, permutedTokens)(Index, sortedIndices)(OptIn, probsOptional)(Bool, paddedMode)(OptInts,
                                                                                         restoreShapeOptional)(Out,
                                                                                                               out),
      refuse_padded(paddedMode);
      unpermute(permutedTokens, sortedIndices, probsOptional, out))
ACLNN(MoeTokenUnpermuteGrad,
      (OptIn, permuteTokensOptional)(In, unpermutedTokensGrad)(Index, sortedIndices)(OptIn, probsOptional)(
          Bool, paddedMode)(OptInts, restoreShapeOptional)(Out, permutedTokensGradOut)(OptOut, probsGradOut),
      refuse_padded(paddedMode);
      unpermute_backward(permuteTokensOptional, unpermutedTokensGrad, sortedIndices, probsOptional,
                         permutedTokensGradOut, probsGradOut))
