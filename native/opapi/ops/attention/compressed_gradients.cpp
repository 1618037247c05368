// native/opapi/ops/attention/compressed_gradients.cpp
// Gradients of attention to windows and compressed keys, and of the loss that trains the indexer of compressed keys. In
// float32, a sequence at a time.
#include <algorithm>
#include <vector>

#include "opapi/ops/attention/compressed_tokens.h"
#include "opapi/ops/common/low_precision.h"
#include "opapi/ops/common/refusal.h"

namespace {

using namespace compressed;

void require_equal_numbers(size_t queries, size_t keys) {
  require(queries == keys, ACLNN_ERR_PARAM_INVALID, "there are ", queries, " sequences of queries and ", keys,
          " of keys");
}

void require_residual(const OptionalTensor& residual, int64_t mode, int64_t ratio) {
  require(residual || mode == kEverything || ratio == 1, ACLNN_ERR_PARAM_NULLPTR,
          "parameter 'cmpResidual' is null; it is needed with mask mode 3 and cmpRatio ", ratio);
}

// ---- the indexer

struct LossInputs {
  const at::Tensor &query, &key, &weights, &chosen, &target;
  TokenLengths queries, keys;
  OptionalTensor residual;
};

struct LossSettings {
  int64_t mode, ratio;
  const std::string &query_layout, &key_layout;
};

struct LossOutputs {
  at::Tensor &query, &key, &weights, &shares;
};

// Of one sequence: queries [rows, N, D], weights [rows, N], keys [keys, D], the others [rows, K].
struct LossSequence {
  at::Tensor query, weights, key, index, valid, target;
  at::ScalarType dtype;  // gradients of products are rounded to it
};

struct LossRows {
  at::Tensor query, weights, shares;  // gradients and shares of some rows
};

// The rows from `first` on; adds their part to the gradient of the keys.
LossRows grad_rows(const LossSequence& sequence, int64_t first, int64_t count, at::Tensor& by_key) {
  const auto rows = [&](const at::Tensor& tensor) { return tensor.narrow(0, first, count); };
  const at::Tensor query = rows(sequence.query), weights = rows(sequence.weights).unsqueeze(2);
  const at::Tensor index = rows(sequence.index).flatten(), hidden = rows(sequence.valid).logical_not();
  const at::Tensor keys = sequence.key.index_select(0, index).view({count, -1, sequence.key.size(1)});
  const at::Tensor products = query.bmm(keys.transpose(1, 2)).relu_();  // [rows, N, K]
  const at::Tensor scores = products.mul(weights).sum(1).masked_fill_(hidden, kLowest);
  const at::Tensor shares = scores.softmax(1).masked_fill_(hidden, 0);  // also of rows without any key
  const at::Tensor target = rows(sequence.target).masked_fill(hidden, 0);
  const at::Tensor by_scores = shares.mul(target.sum(1, true)).sub_(target).unsqueeze(1);
  const at::Tensor by_products =
      products.gt(0).to(at::kFloat).mul_(by_scores).mul_(weights).to(sequence.dtype).to(at::kFloat);
  by_key.index_add_(0, index, by_products.transpose(1, 2).bmm(query).flatten(0, 1));
  return {by_products.bmm(keys), products.mul(by_scores).sum(2), shares};
}

void grad_indexer(const LossInputs& inputs, const LossSettings& settings, const LossOutputs& outputs) {
  constexpr int64_t kRows = 16;  // at once: each has its own copy of the keys
  require_layouts(settings.query_layout, settings.key_layout);
  require(!is_paged(settings.key_layout), ACLNN_ERR_PARAM_INVALID, "parameter 'layoutK' is '", settings.key_layout,
          "'; allowed: BSND, TND");
  require(settings.mode == kEverything || settings.mode == kCausal, ACLNN_ERR_PARAM_INVALID, "parameter 'maskMode' is ",
          settings.mode, "; allowed: 0, 3");
  require(settings.ratio >= 1 && settings.ratio <= 128, ACLNN_ERR_PARAM_INVALID, "parameter 'cmpRatio' is ",
          settings.ratio, "; allowed: 1 to 128");
  require(inputs.chosen.sizes() == inputs.target.sizes(), ACLNN_ERR_PARAM_INVALID,
          "sparseIndices and attnSoftmaxL1Norm have shapes ", inputs.chosen.sizes(), " and ", inputs.target.sizes(),
          "; they must be equal");
  require_residual(inputs.residual, settings.mode, settings.ratio);
  const std::vector<TokenPlace> queries = places_of(inputs.query, settings.query_layout, inputs.queries, "q");
  const std::vector<TokenPlace> keys = places_of(inputs.key, settings.key_layout, inputs.keys, "k");
  require_equal_numbers(queries.size(), keys.size());
  require(inputs.key.size(-2) == 1 && inputs.key.size(-1) == inputs.query.size(-1), ACLNN_ERR_PARAM_INVALID,
          "q and k have shapes ", inputs.query.sizes(), " and ", inputs.key.sizes(),
          "; k must have one head of the same width");
  for (at::Tensor* output : {&outputs.query, &outputs.key, &outputs.weights, &outputs.shares}) output->zero_();
  for (size_t i = 0; i < queries.size(); ++i) {
    const int64_t rows = queries[i].count, count = keys[i].count;
    if (rows == 0 || count == 0) continue;
    const auto own = [&](const at::Tensor& tensor) { return rows_for(tensor, settings.query_layout, queries[i], i); };
    const at::Tensor chosen = own(inputs.chosen).select(1, 0).to(at::kLong);
    const int64_t tokens = tokens_before(inputs.residual, i, count, settings.ratio, count * settings.ratio);
    const at::Tensor ends = seen_tokens(rows, tokens, settings.mode).div(settings.ratio, "floor").clamp_max(count);
    const at::Tensor valid = chosen.ge(0).logical_and(chosen < ends);
    const LossSequence sequence{to_float(own(inputs.query)),
                                to_float(own(inputs.weights)),
                                to_float(rows_for(inputs.key, settings.key_layout, keys[i], i).select(1, 0)),
                                chosen.masked_fill(valid.logical_not(), 0),
                                valid,
                                to_float(own(inputs.target).select(1, 0)),
                                inputs.query.scalar_type()};
    at::Tensor by_key = at::zeros_like(sequence.key);
    for (int64_t first = 0; first < rows; first += kRows) {
      const int64_t some = std::min(kRows, rows - first);
      const LossRows found = grad_rows(sequence, first, some, by_key);
      own(outputs.query).narrow(0, first, some).copy_(found.query);
      own(outputs.weights).narrow(0, first, some).copy_(found.weights);
      own(outputs.shares).select(1, 0).narrow(0, first, some).copy_(found.shares);
    }
    rows_for(outputs.key, settings.key_layout, keys[i], i).select(1, 0).copy_(by_key);
  }
}

// ---- attention

struct AttentionGradients {
  const at::Tensor &by_out, &out, &lse;
};

// Those that a call does not have are undefined.
struct AttentionOutputs {
  at::Tensor &query, &original, &compressed, &sinks, &chosen_shares;
};

// The rows of statistics [B, N2, S, G] or [N2, T, G], [heads, rows, 1].
at::Tensor statistics_of(const at::Tensor& tensor, const std::string& layout, const TokenPlace& place, size_t i) {
  const at::Tensor rows = is_of_tokens(layout)
                              ? tensor.select(0, 0).narrow(0, place.first, place.count)
                              : tensor.select(0, static_cast<int64_t>(i)).select(0, 0).narrow(0, 0, place.count);
  return to_float(rows).t().unsqueeze(2);
}

void grad_attention(const MlaInputs& inputs, const MlaSettings& settings, const AttentionGradients& gradients,
                    const AttentionOutputs& outputs) {
  check(inputs, settings);
  require(!is_paged(settings.key_layout), ACLNN_ERR_PARAM_INVALID, "parameter 'layoutKv' is '", settings.key_layout,
          "'; allowed: BSND, TND");
  const bool compressed = inputs.compressed.keys.has_value();
  if (compressed) require_residual(inputs.residual, settings.compressed_mode, settings.ratio);
  require(outputs.original.defined() && (outputs.compressed.defined() || !compressed) &&
              (outputs.sinks.defined() || !inputs.sinks) && (outputs.chosen_shares.defined() || !inputs.chosen),
          ACLNN_ERR_PARAM_NULLPTR,
          "an output is null whose operand is given: dOriKv, dCmpKv, dSinks, cmpSoftmaxL1Norm");
  const std::string& layout = settings.query_layout;
  const std::vector<TokenPlace> queries = places_of(inputs.query, layout, inputs.queries, "query");
  const std::vector<TokenPlace> keys =
      places_of(*inputs.original.keys, settings.key_layout, inputs.original.lengths, "oriKv");
  const std::vector<TokenPlace> more =
      compressed ? places_of(*inputs.compressed.keys, settings.key_layout, inputs.compressed.lengths, "cmpKv")
                 : std::vector<TokenPlace>(keys.size(), {0, 0});
  require_equal_numbers(queries.size(), keys.size());
  require_equal_numbers(queries.size(), more.size());
  for (at::Tensor* output :
       {&outputs.query, &outputs.original, &outputs.compressed, &outputs.sinks, &outputs.chosen_shares}) {
    if (output->defined()) output->zero_();
  }
  for (size_t i = 0; i < queries.size(); ++i) {
    if (queries[i].count == 0) continue;
    const auto by_head = [&](const at::Tensor& tensor) {
      return to_float(rows_for(tensor, layout, queries[i], i)).transpose(0, 1);  // [heads, rows, D]
    };
    const at::Tensor query = by_head(inputs.query), by_out = by_head(gradients.by_out), out = by_head(gradients.out);
    const at::Tensor lse = statistics_of(gradients.lse, layout, queries[i], i);
    at::Tensor key = rows_for(*inputs.original.keys, settings.key_layout, keys[i], i);
    at::Tensor seen = token_window(queries[i].count, keys[i].count, settings);
    if (compressed) {
      key = at::cat({key, rows_for(*inputs.compressed.keys, settings.key_layout, more[i], i)});
      seen = at::cat({seen, seen_compressed(inputs, settings, queries[i], i, more[i].count, keys[i].count)}, 1);
    }
    const at::Tensor values = to_float(key.select(1, 0));  // [keys, D]
    const at::Tensor scores = query.matmul(values.t()).mul_(settings.scale).masked_fill_(seen.logical_not(), kLowest);
    const at::Tensor shares = scores.sub_(lse).exp_();
    const at::Tensor mean = by_out.mul(out).sum(2, true);  // of the gradients of all shares
    const at::Tensor by_scores = by_out.matmul(values.t()).sub_(mean).mul_(shares).mul_(settings.scale);
    rows_for(outputs.query, layout, queries[i], i).copy_(by_scores.matmul(values).transpose(0, 1));
    const at::Tensor by_values =
        by_scores.transpose(1, 2).matmul(query).add_(shares.transpose(1, 2).matmul(by_out)).sum(0).unsqueeze(1);
    rows_for(outputs.original, settings.key_layout, keys[i], i).copy_(by_values.narrow(0, 0, keys[i].count));
    if (compressed) {
      rows_for(outputs.compressed, settings.key_layout, more[i], i)
          .copy_(by_values.narrow(0, keys[i].count, more[i].count));
    }
    if (inputs.sinks) {
      const at::Tensor of_sinks = to_float(*inputs.sinks).view({-1, 1, 1}).sub(lse).exp_();
      outputs.sinks.sub_(of_sinks.mul_(mean).sum({1, 2}));
    }
    if (!inputs.chosen) continue;
    const at::Tensor index = rows_for(*inputs.chosen, layout, queries[i], i).select(1, 0).to(at::kLong);
    const at::Tensor there = index.ge(0).logical_and(index < more[i].count);
    const at::Tensor on_average = shares.narrow(2, keys[i].count, more[i].count).mean(0);
    const at::Tensor gathered = on_average.gather(1, index.masked_fill(there.logical_not(), 0));
    rows_for(outputs.chosen_shares, layout, queries[i], i)
        .select(1, 0)
        .copy_(gathered.masked_fill(there.logical_not(), 0));
  }
}

}  // namespace

ACLNN(SparseLightningIndexerKLLossGrad,
      (In, q)(In, k)(In, w)(In, sparseIndices)(In, attnSoftmaxL1Norm)(OptIn, cuSeqLensQOptional)(OptIn,
                                                                                                 cuSeqLensKOptional)(
          OptIn, seqUsedQOptional)(OptIn, seqUsedKOptional)(OptIn, cmpResidualKOptional)(OptIn, metadataOptional)(
          Text, layoutQ)(Text, layoutK)(Int, maskMode)(Int, cmpRatio)(Out, dq)(Out, dk)(Out, dw)(Out, softmaxOut),
      grad_indexer({q,
                    k,
                    w,
                    sparseIndices,
                    attnSoftmaxL1Norm,
                    {given(cuSeqLensQOptional), given(seqUsedQOptional)},
                    {given(cuSeqLensKOptional), given(seqUsedKOptional)},
                    given(cmpResidualKOptional)},
                   {maskMode, cmpRatio, layoutQ, layoutK}, {dq, dk, dw, softmaxOut}))
ACLNN(SparseFlashMlaGrad,
      (In, query)(In, dOut)(In, out)(In, lse)(OptIn, oriKvOptional)(OptIn, cmpKvOptional)(
          OptIn, oriSparseIndicesOptional)(OptIn, cmpSparseIndicesOptional)(OptIn, cuSeqlensQOptional)(
          OptIn, cuSeqlensOriKvOptional)(OptIn, cuSeqlensCmpKvOptional)(OptIn, sequsedQOptional)(
          OptIn, sequsedOriKvOptional)(OptIn, sequsedCmpKvOptional)(OptIn, cmpResidualKvOptional)(
          OptIn, oriTopkLengthOptional)(OptIn, cmpTopkLengthOptional)(OptIn, sinksOptional)(OptIn, metadataOptional)(
          Double, scaleValue)(Int, cmpRatio)(Int, oriMaskMode)(Int, cmpMaskMode)(Int, oriWinLeft)(Int, oriWinRight)(
          Text, layoutQOptional)(Text, layoutKvOptional)(Out, dQueryOut)(OptOut, dOriKvOutOptional)(OptOut,
                                                                                                    dCmpKvOutOptional)(
          OptOut, dSinksOutOptional)(OptOut, oriSoftmaxL1NormOptional)(OptOut, cmpSoftmaxL1NormOptional),
      refuse({{oriSparseIndicesOptional, "oriSparseIndices"},
              {oriTopkLengthOptional, "oriTopkLength"},
              {cmpTopkLengthOptional, "cmpTopkLength"}});
      grad_attention({query,
                      {given(cuSeqlensQOptional), given(sequsedQOptional)},
                      {given(oriKvOptional), kNone, {given(cuSeqlensOriKvOptional), given(sequsedOriKvOptional)}},
                      {given(cmpKvOptional), kNone, {given(cuSeqlensCmpKvOptional), given(sequsedCmpKvOptional)}},
                      given(cmpSparseIndicesOptional),
                      given(cmpResidualKvOptional),
                      given(sinksOptional)},
                     {scaleValue, cmpRatio, oriMaskMode, cmpMaskMode, oriWinLeft, oriWinRight, layoutQOptional,
                      layoutKvOptional},
                     {dOut, out, lse},
                     {dQueryOut, dOriKvOutOptional, dCmpKvOutOptional, dSinksOutOptional, cmpSoftmaxL1NormOptional}))
