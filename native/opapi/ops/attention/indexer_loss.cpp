// native/opapi/ops/attention/indexer_loss.cpp
// The training of an indexer: the divergence of its distribution over keys from that of attention, and the gradient,
//   loss = sum p (log p - log s),  p = mean over heads of softmax(scale q k^T),  s = softmax(sum_n w_n relu(q_n k^T)),
// over all keys that a query may see, or over those that were selected for it. In float32.
#include <algorithm>

#include "opapi/ops/attention/sequences.h"
#include "opapi/ops/common/refusal.h"
#include "opapi/ops/common/unlimited_window.h"

namespace {

using namespace opapi::attention;

constexpr int64_t kQueries = 16;  // at once: the scores of all heads exist as one tensor

struct Masking {
  at::OptionalIntArrayRef query_ends, key_ends;
  const std::string& layout;
  int64_t sparse_mode, pre_tokens, next_tokens;
};

struct Sequence {
  Span queries, keys;
};

// The sequences of tensors [B, S, N, D] or [T, N, D].
std::vector<Sequence> sequences_of(const at::Tensor& query, const at::Tensor& key, const Masking& masking) {
  require(masking.sparse_mode == 3, ACLNN_ERR_PARAM_INVALID, "parameter 'sparseMode' is ", masking.sparse_mode,
          "; it must be 3");
  require_unlimited(masking.pre_tokens, masking.next_tokens);
  require(masking.layout == "BSND" || masking.layout == "TND", ACLNN_ERR_PARAM_INVALID, "parameter 'layout' is '",
          masking.layout, "'; it must be BSND or TND");
  const bool packed = masking.layout == "TND";
  require(query.dim() == (packed ? 3 : 4) && key.dim() == query.dim(), ACLNN_ERR_PARAM_INVALID,
          "query and key have shapes ", query.sizes(), " and ", key.sizes(), "; ", masking.layout, " has ",
          packed ? 3 : 4, " dimensions");
  std::vector<Span> queries, keys;
  if (packed) {
    queries = packed_spans(masking.query_ends, query.size(0), "actualSeqLengthsQuery");
    keys = packed_spans(masking.key_ends, key.size(0), "actualSeqLengthsKey");
  } else {
    queries = padded_spans(std::nullopt, query.size(0), query.size(1), std::nullopt, "actualSeqLengthsQuery");
    keys = padded_spans(std::nullopt, key.size(0), key.size(1), std::nullopt, "actualSeqLengthsKey");
  }
  require(queries.size() == keys.size(), ACLNN_ERR_PARAM_INVALID, "there are ", queries.size(),
          " sequences of queries and ", keys.size(), " of keys");
  std::vector<Sequence> result;
  for (size_t i = 0; i < queries.size(); ++i) {
    require(queries[i].length <= keys[i].length, ACLNN_ERR_PARAM_INVALID, "sequence ", i, " has ", queries[i].length,
            " queries and only ", keys[i].length, " keys");
    result.push_back({queries[i], keys[i]});
  }
  return result;
}

// The rows of a sequence, [S, ...].
at::Tensor own(const at::Tensor& tensor, const Span& span, const Masking& masking) {
  if (masking.layout == "TND") return tensor.narrow(0, span.start, span.length);
  return tensor.select(0, span.batch).narrow(0, span.start, span.length);
}

// Statistics [B, N, S, ...] or [N, T, ...] of a sequence, [N, S, ...].
at::Tensor own_statistics(const at::Tensor& tensor, const Span& span, const Masking& masking) {
  if (masking.layout == "TND") return tensor.narrow(1, span.start, span.length);
  return tensor.select(0, span.batch).narrow(1, span.start, span.length);
}

// True where query `first + i` may not see a key: it is aligned with the last keys.
at::Tensor hidden_keys(int64_t first, int64_t count, int64_t queries, int64_t keys) {
  const at::Tensor last = at::arange(first, first + count).add_(keys - queries);
  return at::arange(keys).gt(last.unsqueeze(1));
}

// ---- the indexer's scores

struct Indexer {
  at::Tensor query, key, weights;  // [N, S, D], [keys, D], [N, S, 1], computed
};

Indexer indexer_of(const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights) {
  require(key.size(1) == 1 && query.size(2) == key.size(2) && weights.sizes() == query.sizes().slice(0, 2),
          ACLNN_ERR_PARAM_INVALID, "the indexer's query, key and weights have shapes ", query.sizes(), ", ",
          key.sizes(), " and ", weights.sizes(), " in a sequence; they must be [S, N, D], [keys, 1, D] and [S, N]");
  return {widened(query).transpose(0, 1), widened(key).squeeze(1), widened(weights).t().unsqueeze(2)};
}

// For each head, [N, queries, keys], before and after the weights are added up.
at::Tensor products(const Indexer& indexer, int64_t first, int64_t count) {
  return indexer.query.narrow(1, first, count).matmul(indexer.key.t()).relu_();
}

at::Tensor scores(const Indexer& indexer, const at::Tensor& products, int64_t first, const at::Tensor& hidden) {
  const at::Tensor weights = indexer.weights.narrow(1, first, products.size(1));
  return products.mul(weights).sum(0).masked_fill_(hidden, -kInfinity);
}

void indexer_statistics(const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                        const Masking& masking, at::Tensor& highest, at::Tensor& sum) {
  for (const auto& [queries, keys] : sequences_of(query, key, masking)) {
    const Indexer indexer =
        indexer_of(own(query, queries, masking), own(key, keys, masking), own(weights, queries, masking));
    const at::Tensor highest_own = own_statistics(highest, queries, masking);
    const at::Tensor sum_own = own_statistics(sum, queries, masking);
    for (int64_t first = 0; first < queries.length; first += kQueries) {
      const int64_t count = std::min(kQueries, queries.length - first);
      const at::Tensor hidden = hidden_keys(first, count, queries.length, keys.length);
      const at::Tensor all = scores(indexer, products(indexer, first, count), first, hidden);
      const at::Tensor most = all.amax(1, true);
      highest_own.narrow(1, first, count).copy_(most.squeeze(1));
      sum_own.narrow(1, first, count).copy_(all.sub(most).exp_().sum(1));
    }
  }
}

// ---- the loss

struct LossOperands {
  const at::Tensor &query, &key, &index_query, &index_key, &weights, &highest, &sum;
  const OptionalTensor &query_rope, &key_rope;
  const OptionalTensor &index_highest, &index_sum;  // computed if absent
  const OptionalTensor& selected;                   // all keys if absent
  double scale;
};

struct LossGradients {
  at::Tensor &query, &key, &weights;
};

// One sequence.
struct LossPart {
  at::Tensor query, key;    // [N, S, D], [heads of keys, keys, D], computed
  at::Tensor highest, sum;  // [N, S, 1]
  Indexer indexer;
  at::Tensor index_highest, index_sum;  // [S, 1] or undefined
  at::Tensor selected;                  // [S, K] or undefined
};

at::Tensor with_rope(const at::Tensor& tensor, const OptionalTensor& rope, const Span& span, const Masking& masking) {
  const at::Tensor rows = widened(own(tensor, span, masking));
  const at::Tensor joined = rope ? at::cat({rows, widened(own(*rope, span, masking))}, 2) : rows;
  return joined.transpose(0, 1);
}

LossPart part_of(const LossOperands& operands, const Sequence& sequence, const Masking& masking) {
  const auto& [queries, keys] = sequence;
  const auto by_head = [&](const at::Tensor& tensor) {  // [N2, S, G] -> [N, S, 1]
    return own_statistics(tensor, queries, masking).transpose(1, 2).flatten(0, 1).to(at::kFloat).unsqueeze(2);
  };
  const auto by_query = [&](const OptionalTensor& tensor) {
    return tensor ? own_statistics(*tensor, queries, masking).select(0, 0).unsqueeze(1) : at::Tensor();
  };
  LossPart part{with_rope(operands.query, operands.query_rope, queries, masking),
                with_rope(operands.key, operands.key_rope, keys, masking),
                by_head(operands.highest),
                by_head(operands.sum),
                indexer_of(own(operands.index_query, queries, masking), own(operands.index_key, keys, masking),
                           own(operands.weights, queries, masking)),
                by_query(operands.index_highest),
                by_query(operands.index_sum),
                operands.selected ? own(*operands.selected, queries, masking).select(1, 0) : at::Tensor()};
  require(part.key.size(0) > 0 && part.query.size(0) % part.key.size(0) == 0 &&
              part.query.size(2) == part.key.size(2) && part.highest.size(0) == part.query.size(0),
          ACLNN_ERR_PARAM_INVALID, "query, key and softmaxMax have shapes ", operands.query.sizes(), ", ",
          operands.key.sizes(), " and ", operands.highest.sizes(), "; their heads do not fit");
  return part;
}

// The keys that some queries may not see, [count, keys].
at::Tensor hidden_in(const LossPart& part, int64_t first, int64_t count) {
  const int64_t keys = part.key.size(1);
  at::Tensor hidden = hidden_keys(first, count, part.query.size(1), keys);
  if (!part.selected.defined()) return hidden;
  const at::Tensor index = part.selected.narrow(0, first, count).to(at::kLong);
  const at::Tensor valid = index.ge(0).logical_and_(index.lt(keys));
  at::Tensor seen = at::zeros({count, keys + 1}, at::kBool);
  seen.scatter_(1, index.masked_fill(valid.logical_not(), keys), true);
  return hidden.logical_or_(seen.narrow(1, 0, keys).logical_not());
}

// The distribution of attention, [count, keys].
at::Tensor target(const LossPart& part, double scale, int64_t first, int64_t count, const at::Tensor& hidden) {
  const int64_t groups = part.query.size(0) / part.key.size(0);
  const at::Tensor query = part.query.narrow(1, first, count).reshape({part.key.size(0), groups * count, -1});
  at::Tensor shares = query.matmul(part.key.transpose(1, 2)).view({part.query.size(0), count, -1}).mul_(scale);
  shares.sub_(part.highest.narrow(1, first, count)).exp_().div_(part.sum.narrow(1, first, count));
  return shares.mean(0).masked_fill_(hidden, 0);
}

at::Tensor distribution(const LossPart& part, const at::Tensor& scores, int64_t first) {
  if (!part.index_highest.defined()) return scores.softmax(1).nan_to_num_(0);
  const int64_t count = scores.size(0);
  return scores.sub(part.index_highest.narrow(0, first, count)).exp_().div_(part.index_sum.narrow(0, first, count));
}

at::Tensor logarithm(const at::Tensor& shares) {
  constexpr double kLeast = 1e-8;
  return shares.clamp_min(kLeast).log_();
}

void grad_loss(const LossOperands& operands, const Masking& masking, const LossGradients& gradients, at::Tensor& loss) {
  const at::ScalarType dtype = operands.query.scalar_type();  // gradients of products are rounded to it
  double total = 0;
  for (at::Tensor* one : {&gradients.query, &gradients.key, &gradients.weights}) one->zero_();
  for (const Sequence& sequence : sequences_of(operands.query, operands.key, masking)) {
    const LossPart part = part_of(operands, sequence, masking);
    const at::Tensor by_query = own(gradients.query, sequence.queries, masking);
    const at::Tensor by_weights = own(gradients.weights, sequence.queries, masking);
    at::Tensor by_key = at::zeros_like(part.indexer.key);
    for (int64_t first = 0; first < sequence.queries.length; first += kQueries) {
      const int64_t count = std::min(kQueries, sequence.queries.length - first);
      const at::Tensor hidden = hidden_in(part, first, count);
      const at::Tensor wanted = target(part, operands.scale, first, count, hidden);
      const at::Tensor each = products(part.indexer, first, count);
      const at::Tensor given = distribution(part, scores(part.indexer, each, first, hidden), first);
      total += logarithm(wanted).sub_(logarithm(given)).mul_(wanted).sum().item<double>();
      const at::Tensor by_scores = at::sub(given, wanted);
      by_weights.narrow(0, first, count).copy_(each.mul(by_scores).sum(2).t());
      const at::Tensor weights = part.indexer.weights.narrow(1, first, count);
      const at::Tensor by_products = each.gt(0).to(at::kFloat).mul_(by_scores).mul_(weights).to(dtype).to(at::kFloat);
      by_query.narrow(0, first, count).copy_(by_products.matmul(part.indexer.key).transpose(0, 1));
      const at::Tensor queries = part.indexer.query.narrow(1, first, count);
      by_key.add_(by_products.transpose(1, 2).matmul(queries).sum(0));
    }
    own(gradients.key, sequence.keys, masking).copy_(by_key.unsqueeze(1));
  }
  loss.fill_(total);
}

}  // namespace

#define WINDOW (Int, sparseMode)(Int, preTokens)(Int, nextTokens)
#define MASKING(QUERY_ENDS, KEY_ENDS) {QUERY_ENDS, KEY_ENDS, layout, sparseMode, preTokens, nextTokens}
#define GRADIENTS (Out, dQueryIndex)(Out, dKeyIndex)(Out, dWeights)(Out, loss)

ACLNN(DenseLightningIndexerSoftmaxLse,
      (In, queryIndex)(In, keyIndex)(In, weight)(OptInts, actualSeqLengthsQueryOptional)(
          OptInts, actualSeqLengthsKeyOptional)(Text, layout)WINDOW(Out, softmaxMaxOut)(Out, softmaxSumOut),
      indexer_statistics(queryIndex, keyIndex, weight,
                         MASKING(actualSeqLengthsQueryOptional, actualSeqLengthsKeyOptional), softmaxMaxOut,
                         softmaxSumOut))
ACLNN(DenseLightningIndexerGradKLLoss,
      (In, query)(In, key)(In, queryIndex)(In, keyIndex)(In, weights)(In, softmaxMax)(In, softmaxSum)(
          OptIn, softmaxMaxIndex)(OptIn, softmaxSumIndex)(OptIn, queryRope)(OptIn, keyRope)(
          OptInts, actualSeqLengthsQuery)(OptInts, actualSeqLengthsKey)(Double, scaleValue)(Text,
                                                                                            layout)WINDOW GRADIENTS,
      grad_loss({query, key, queryIndex, keyIndex, weights, softmaxMax, softmaxSum, queryRope, keyRope, softmaxMaxIndex,
                 softmaxSumIndex, kNone, scaleValue},
                MASKING(actualSeqLengthsQuery, actualSeqLengthsKey), {dQueryIndex, dKeyIndex, dWeights}, loss))
ACLNN(SparseLightningIndexerGradKLLoss,
      (In, query)(In, key)(In, queryIndex)(In, keyIndex)(In, weights)(In, sparseIndices)(In, softmaxMax)(
          In, softmaxSum)(OptIn, queryRope)(OptIn, keyRope)(OptInts, actualSeqLengthsQuery)(
          OptInts, actualSeqLengthsKey)(Double, scaleValue)(Text, layout)WINDOW(Bool, deterministic) GRADIENTS,
      grad_loss({query, key, queryIndex, keyIndex, weights, softmaxMax, softmaxSum, queryRope, keyRope, kNone, kNone,
                 sparseIndices, scaleValue},
                MASKING(actualSeqLengthsQuery, actualSeqLengthsKey), {dQueryIndex, dKeyIndex, dWeights}, loss))
ACLNN(SparseLightningIndexerGradKLLossV2,
      (In, query)(In, key)(In, queryIndex)(In, keyIndex)(In, weight)(In, sparseIndices)(In, softmaxMax)(In, softmaxSum)(
          OptIn, queryRopeOptional)(OptIn, keyRopeOptional)(OptInts, actualSeqLengthsQueryOptional)(
          OptInts, actualSeqLengthsKeyOptional)(OptIn, sinksOptional)(Double, scaleValue)(Text, layout)
          WINDOW(Bool, deterministic)(Out, dQueryIndex)(Out, dKeyIndex)(Out, dWeight)(Out, loss),
      refuse({{sinksOptional, "sinksOptional"}});
      grad_loss({query, key, queryIndex, keyIndex, weight, softmaxMax, softmaxSum, queryRopeOptional, keyRopeOptional,
                 kNone, kNone, sparseIndices, scaleValue},
                MASKING(actualSeqLengthsQueryOptional, actualSeqLengthsKeyOptional), {dQueryIndex, dKeyIndex, dWeight},
                loss))

#undef WINDOW
#undef MASKING
#undef GRADIENTS
