// native/opapi/ops/moe/moe_routing_map.cpp
// Tokens in the order of their experts and back, where a map [tokens, experts] says which expert gets which token.
// Either every token has as many experts (top-k): then index[token * top-k + choice] is its permuted row. Or every
// expert has as many rows (capacity): then index[row] is the token of that row. Sums are computed in float32.
#include "opapi/ops/moe/moe.h"

namespace {

using namespace opwright::opapi::moe;  // NOLINT: tables only

at::Tensor by_expert(const at::Tensor& map) {
  require(map.dim() == 2, ACLNN_ERR_PARAM_INVALID, "parameter 'routingMap' has shape ", map.sizes(),
          "; it must be [tokens, experts]");
  return map.to(at::kBool).t().contiguous();
}

// How many rows each token has; without tokens and rows any number is true.
int64_t rows_of_token(const at::Tensor& index, int64_t tokens) {
  if (tokens == 0 && index.numel() == 0) return 1;
  const int64_t rows = divided(index.numel(), tokens, "tokens");
  require(rows > 0, ACLNN_ERR_PARAM_INVALID, "the list of permuted rows is empty; each of ", tokens,
          " tokens must have one at least");
  return rows;
}

// The expert of each row.
at::Tensor experts_of_rows(int64_t rows, int64_t experts) {
  return at::arange(rows, at::kLong).floor_divide(std::max<int64_t>(divided(rows, experts, "experts"), 1));
}

struct Permuted {
  at::Tensor &tokens, &probs, &index;
};

void permute_top_k(const at::Tensor& tokens, const at::Tensor& map, const OptionalTensor& probs, const Permuted& out) {
  const at::Tensor mask = by_expert(map);
  const at::Tensor chosen = mask.nonzero().select(1, 1);
  require(chosen.numel() == out.tokens.size(0), ACLNN_ERR_PARAM_INVALID, "parameter 'routingMap' chooses ",
          chosen.numel(), " rows, but numOutTokens gives room for ", out.tokens.size(0));
  assign(out.tokens, tokens.index_select(0, chosen));
  assign(out.index, sorted_order(chosen));
  if (probs) assign(out.probs, probs->t().masked_select(mask));
}

// The first tokens of each expert; if there are too few, others follow in their order.
void permute_capacity(const at::Tensor& tokens, const at::Tensor& map, const OptionalTensor& probs,
                      const Permuted& out) {
  const int64_t rows = out.tokens.size(0), experts = map.size(1), capacity = divided(rows, experts, "experts");
  require(capacity <= map.size(0), ACLNN_ERR_PARAM_INVALID, "parameter 'numOutTokens' gives each expert ", capacity,
          " rows, but there are ", map.size(0), " tokens");
  const at::Tensor order = at::argsort(by_expert(map).to(at::kChar), /*stable=*/true, 1, /*descending=*/true);
  const at::Tensor chosen = order.narrow(1, 0, capacity).flatten();
  assign(out.tokens, tokens.index_select(0, chosen));
  assign(out.index, chosen);
  if (probs) assign(out.probs, probs->index({chosen, experts_of_rows(rows, experts)}));
}

struct RoutingGradients {
  at::Tensor &tokens, &probs;
};

at::Tensor scattered(const at::Tensor& map, const at::Tensor& values) {
  const at::Tensor mask = by_expert(map);
  return at::zeros(mask.sizes(), values.options()).masked_scatter(mask, values).t();
}

void permute_backward(const at::Tensor& grad, const OptionalTensor& probs_grad, const at::Tensor& index,
                      const OptionalTensor& map, int64_t experts, int64_t tokens, bool drop,
                      const RoutingGradients& out) {
  require(!probs_grad || drop || map, ACLNN_ERR_PARAM_INVALID,
          "parameter 'routingMap' is null, but the gradient of probs needs it");
  if (drop) {
    const at::Tensor sums = at::zeros({tokens, grad.size(1)}, at::kFloat);
    assign(out.tokens, sums.index_add(0, index, grad.to(at::kFloat)));
    if (!probs_grad) return;
    const at::Tensor probs = at::zeros({tokens, experts}, probs_grad->options());
    assign(out.probs, probs.index_put({index, experts_of_rows(index.numel(), experts)}, *probs_grad));
    return;
  }
  require_places(index, "sortedIndices");
  assign(out.tokens, sum_of_rows(rows_at(grad, index), rows_of_token(index, tokens), std::nullopt));
  if (probs_grad) assign(out.probs, scattered(*map, *probs_grad));
}

struct Unpermuted {
  at::Tensor &tokens, &out_index, &token_of_row, &probs;
};

const at::Tensor& needed_map(const OptionalTensor& map) {
  require(map.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter 'routingMap' is null, but parameter 'probs' needs it");
  return *map;
}

void unpermute_top_k(const at::Tensor& permuted, const at::Tensor& index, const OptionalTensor& map,
                     const OptionalTensor& probs, const Unpermuted& out) {
  const int64_t tokens = out.tokens.size(0), top_k = rows_of_token(index, tokens);
  // A token may have fewer experts than there is room for.
  require_places(index, "sortedIndices", /*least=*/-1, ", and -1 for a choice that a token does not use");
  OptionalTensor weights;
  if (probs) {
    weights = probs->masked_select(needed_map(map).to(at::kBool)).view({tokens, top_k});
    assign(out.probs, weights->flatten());
  }
  assign(out.tokens, sum_of_rows(rows_at(permuted, index), top_k, weights));
  assign(out.out_index, index);
  assign(out.token_of_row, at::arange(index.numel(), at::kLong).floor_divide(top_k));
}

void unpermute_capacity(const at::Tensor& permuted, const at::Tensor& index, const OptionalTensor& probs,
                        const Unpermuted& out) {
  at::Tensor rows = permuted.to(at::kFloat);
  if (probs) {
    const at::Tensor weights = probs->index({index, experts_of_rows(index.numel(), probs->size(1))});
    assign(out.probs, weights);
    rows = rows * weights.unsqueeze(1);
  }
  assign(out.tokens, at::zeros(out.tokens.sizes(), at::kFloat).index_add(0, index, rows));
  const at::Tensor order = sorted_order(index);
  assign(out.out_index, order);
  assign(out.token_of_row, index.index_select(0, order));
}

// Rows of the permuted tokens: out_index[i] belongs to token_of_row[i].
struct RoutingPairs {
  const at::Tensor &out_index, &token_of_row;
};

void unpermute_backward(const at::Tensor& grad, const RoutingPairs& pairs, const OptionalTensor& map,
                        const OptionalTensor& permuted, const OptionalTensor& probs, bool drop,
                        const RoutingGradients& out) {
  const at::Tensor& index = pairs.out_index;
  require_places(index, "outIndex");
  const int64_t top_k = drop ? 1 : rows_of_token(index, grad.size(0));
  const at::Tensor token = drop ? pairs.token_of_row : at::arange(index.numel(), at::kLong).floor_divide(top_k);
  const at::Tensor source = grad.to(at::kFloat).index_select(0, token);
  at::Tensor rows = at::empty(source.sizes(), source.options());
  put_rows(rows, index, source);
  if (!probs) {
    assign(out.tokens, rows);
    return;
  }
  require(permuted.has_value(), ACLNN_ERR_PARAM_NULLPTR,
          "parameter 'permutedTokens' is null, but the gradient of probs needs it");
  const at::Tensor of_rows = (rows * *permuted).sum(1).to(out.probs.defined() ? out.probs.scalar_type() : at::kFloat);
  at::Tensor weights;  // of each permuted row
  if (drop) {
    const at::Tensor experts = index.floor_divide(divided(index.numel(), probs->size(1), "experts"));
    weights = at::empty({index.numel()}, probs->options()).index_put({index}, probs->index({token, experts}));
    const at::Tensor zeros = at::zeros(probs->sizes(), of_rows.options());
    assign(out.probs, zeros.index_put({token, experts}, of_rows.index_select(0, index)));
  } else {
    weights = probs->t().masked_select(by_expert(needed_map(map)));
    assign(out.probs, scattered(*map, of_rows));
  }
  assign(out.tokens, rows * weights.unsqueeze(1));
}

}  // namespace

ACLNN(MoeTokenPermuteWithRoutingMap,
      (In, tokens)(In, routingMap)(OptIn, probsOptional)(Int, numOutTokens)(Bool, dropAndPad)(Out, permuteTokensOut)(
          OptOut, permuteProbsOutOptional)(OutIndex, sortedIndicesOut),
      (dropAndPad ? permute_capacity : permute_top_k)(tokens, routingMap, probsOptional,
                                                      {permuteTokensOut, permuteProbsOutOptional, sortedIndicesOut}))
ACLNN(MoeTokenPermuteWithRoutingMapGrad,
      (In, permutedTokenOutputGrad)(OptIn, permutedProbsOutputGradOptional)(Index, sortedIndices)(OptIn,
                                                                                                  routingMapOptional)(
          Int, numExperts)(Int, tokensNum)(Bool, dropAndPad)(Out, tokensGradOut)(OptOut, probsGradOutOptional),
      permute_backward(permutedTokenOutputGrad, permutedProbsOutputGradOptional, sortedIndices, routingMapOptional,
                       numExperts, tokensNum, dropAndPad, {tokensGradOut, probsGradOutOptional}))
ACLNN(MoeTokenUnpermuteWithRoutingMap,
      (In, permutedTokens)(Index, sortedIndices)(OptIn, routingMapOptional)(OptIn, probsOptional)(Bool, paddedMode)(
          OptInts, restoreShapeOptional)(Out, unpermutedTokens)(OutIndex, outIndex)(OutIndex,
                                                                                    permuteTokenId)(OptOut,
                                                                                                    permuteProbs),
      const Unpermuted out{unpermutedTokens, outIndex, permuteTokenId, permuteProbs};
      paddedMode ? unpermute_capacity(permutedTokens, sortedIndices, probsOptional, out)
                 : unpermute_top_k(permutedTokens, sortedIndices, routingMapOptional, probsOptional, out))
ACLNN(MoeTokenUnpermuteWithRoutingMapGrad,
      (In, unpermutedTokensGrad)(Index, outIndex)(Index, permuteTokenId)(OptIn, routingMapOptional)(
          OptIn, permutedTokensOptional)(OptIn, probsOptional)(Bool, dropAndPad)(OptInts, restoreShapeOptional)(
          Out, permutedTokensGradOut)(OptOut, probsGradOutOptional),
      unpermute_backward(unpermutedTokensGrad, {outIndex, permuteTokenId}, routingMapOptional, permutedTokensOptional,
                         probsOptional, dropAndPad, {permutedTokensGradOut, probsGradOutOptional}))
