// native/opapi/ops/attention/nsa_selected_attention.cpp
// Native sparse attention (NSA) to the blocks of keys that were chosen for each query, with its gradient.
#include <algorithm>

#include "opapi/ops/attention/nsa_attention.h"

namespace {

using namespace opapi::attention;
using namespace opapi::attention::nsa;

struct Selection {
  at::Tensor position;  // of each chosen key in its sequence, [queries, N, chosen]
  at::Tensor hidden;    // true for keys that there are not, or that are behind the query
};

// chosen: [queries, N, blocks].
Selection selected(const at::Tensor& chosen, int64_t block_size, int64_t keys) {
  const at::Tensor position = chosen.to(at::kLong).mul(block_size).unsqueeze(3).add(at::arange(block_size)).flatten(2);
  const at::Tensor hidden = position.lt(0).logical_or_(position.ge(keys));
  return {position.clamp(0, std::max<int64_t>(keys - 1, 0)), hidden};
}

// Without a mask every key counts, in any mode. `first` is the first query's position.
void hide(Selection& selection, const OptionalTensor& mask, int64_t mode, int64_t first) {
  if (!mask) return;
  const at::Tensor query = at::arange(first, first + selection.position.size(0)).view({-1, 1, 1});
  if (mode == 2) {
    selection.hidden.logical_or_(selection.position.gt(query));
    return;
  }
  require(mask->dim() == 2 && mask->size(0) >= first + selection.position.size(0), ACLNN_ERR_PARAM_INVALID,
          "parameter 'attenMask' has shape ", mask->sizes(), "; it must be [queries, keys]");
  selection.hidden.logical_or_(mask->to(at::kBool).index({query, selection.position}));
}

// The chosen rows of [keys, N, D]: [queries, N, chosen, D].
at::Tensor gathered(const at::Tensor& tokens, const at::Tensor& position) {
  return widened(tokens.index({position, at::arange(tokens.size(1)).view({1, -1, 1})}));
}

// Queries [S, N1, D] as [S, N, N1 / N, D].
at::Tensor grouped(const at::Tensor& query, int64_t key_heads) { return query.unflatten(1, {key_heads, -1}); }

struct Selected {
  const at::Tensor &query, &key, &value, &chosen;
  double scale;
  int64_t block_size;
};

Problem problem_of(const Selected& operands, const Selection& selection) {
  Problem problem;
  problem.query = widened(grouped(operands.query, operands.key.size(1)));
  problem.key = gathered(operands.key, selection.position);
  problem.value = gathered(operands.value, selection.position);
  problem.scale = operands.scale;
  problem.hidden = selection.hidden.unsqueeze(2);
  return problem;
}

struct SelectOptions {
  const Lengths& lengths;
  int64_t heads;
  const std::string& layout;
  const OptionalTensor& mask;
  int64_t sparse_mode, block_size, block_count;
};

// Calls compute(operands, selection, queries, keys) for some queries of one sequence after another: what they have
// chosen takes much memory.
template <class Compute>
void for_each_part(const Selected& operands, const SelectOptions& options, const Compute& compute) {
  constexpr int64_t kQueries = 32;
  check_packed(operands.query, operands.key, operands.value, options.heads, options.layout);
  require(options.sparse_mode == 0 || options.sparse_mode == 2, ACLNN_ERR_PARAM_INVALID, "parameter 'sparseMode' is ",
          options.sparse_mode, "; it must be 0 or 2");
  require(options.block_size > 0 && operands.chosen.dim() == 3 && operands.chosen.size(0) == operands.query.size(0) &&
              operands.chosen.size(1) == operands.key.size(1) && operands.chosen.size(2) == options.block_count,
          ACLNN_ERR_PARAM_INVALID, "parameter 'topkIndices' has shape ", operands.chosen.sizes(), "; it must be [",
          operands.query.size(0), ", ", operands.key.size(1), ", ", options.block_count, "]");
  const std::vector<Span> queries = spans_of(options.lengths.queries, operands.query, "actualSeqQLen");
  const std::vector<Span> keys = spans_of(options.lengths.keys, operands.key, "actualSeqKvLen");
  require(queries.size() == keys.size(), ACLNN_ERR_PARAM_INVALID, "there are ends of ", queries.size(),
          " sequences of queries and ", keys.size(), " of keys");
  for (size_t i = 0; i < queries.size(); ++i) {
    const at::Tensor key = operands.key.narrow(0, keys[i].start, keys[i].length);
    const at::Tensor value = operands.value.narrow(0, keys[i].start, keys[i].length);
    for (int64_t done = 0; done < queries[i].length; done += kQueries) {
      const Span part{0, queries[i].start + done, std::min(kQueries, queries[i].length - done)};
      const at::Tensor query = operands.query.narrow(0, part.start, part.length);
      const at::Tensor chosen = operands.chosen.narrow(0, part.start, part.length);
      if (key.size(0) == 0) continue;
      Selection selection = selected(chosen, options.block_size, key.size(0));
      hide(selection, options.mask, options.sparse_mode, done);
      compute(Selected{query, key, value, chosen, operands.scale, options.block_size}, selection, part, keys[i]);
    }
  }
}

void select_attend(const Selected& operands, const SelectOptions& options, at::Tensor& highest, at::Tensor& sum,
                   at::Tensor& out) {
  for (at::Tensor* one : {&highest, &sum, &out}) one->zero_();
  for_each_part(operands, options,
                [&](const Selected& part, const Selection& selection, const Span& queries, const Span&) {
                  const Result result = forward(problem_of(part, selection));
                  const auto store = [&](at::Tensor& target, const at::Tensor& rows) {
                    at::Tensor own = target.narrow(0, queries.start, queries.length);
                    own.copy_(rows.flatten(1, 2).expand(own.sizes()));
                  };
                  store(out, result.out);
                  store(highest, result.highest);
                  store(sum, result.sum);
                });
}

void select_attend_backward(const Selected& operands, const SelectOptions& options, const at::Tensor& grad,
                            const at::Tensor& highest, const at::Tensor& sum, at::Tensor& grad_query,
                            at::Tensor& grad_key, at::Tensor& grad_value) {
  grad_query.zero_();
  const int64_t heads = operands.key.size(1);
  at::Tensor by_key = at::zeros(operands.key.sizes(), at::kFloat);
  at::Tensor by_value = at::zeros(operands.value.sizes(), at::kFloat);
  for_each_part(
      operands, options, [&](const Selected& part, const Selection& selection, const Span& queries, const Span& keys) {
        const auto own = [&](const at::Tensor& tensor) {
          return widened(grouped(tensor.narrow(0, queries.start, queries.length), heads));
        };
        const Gradients gradients =
            backward(problem_of(part, selection), own(grad), own(highest.narrow(2, 0, 1)), own(sum.narrow(2, 0, 1)));
        grad_query.narrow(0, queries.start, queries.length).copy_(gradients.query.flatten(1, 2));
        const auto add = [&](at::Tensor& target, const at::Tensor& rows) {
          target.narrow(0, keys.start, keys.length)
              .index_put_({selection.position, at::arange(heads).view({1, -1, 1})}, rows,
                          /*accumulate=*/true);
        };
        add(by_key, gradients.key);
        add(by_value, gradients.value);
      });
  assign(grad_key, by_key);
  assign(grad_value, by_value);
}

// One query for each sequence.
void select_attend_one(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                       const at::Tensor& chosen, const OptionalTensor& table, const Lengths& lengths,
                       int64_t block_size, int64_t block_count, double scale, const PagedOptions& options,
                       at::Tensor& out) {
  const at::Tensor queries = one_query_each(query, options);
  check_paged(table, lengths, queries, options);
  at::Tensor outs = out.view({queries.size(0), options.heads, -1});
  require(block_size > 0 && block_count > 0 && chosen.numel() == queries.size(0) * options.key_heads * block_count,
          ACLNN_ERR_PARAM_INVALID, "parameter 'topkIndices' has shape ", chosen.sizes(), ", selectBlockSize is ",
          block_size, " and selectBlockCount ", block_count, "; there must be so many blocks for each of ",
          queries.size(0), " queries and ", options.key_heads, " heads, of a positive size");
  const at::Tensor choices = chosen.view({queries.size(0), options.key_heads, block_count});
  for (int64_t i = 0; i < queries.size(0); ++i) {
    const int64_t length = (*lengths.keys)[i];
    const at::Tensor keys = from_pages(key, *table, i, length, options, "key");
    const at::Tensor values = from_pages(value, *table, i, length, options, "value");
    const at::Tensor own = queries.narrow(0, i, 1), chosen_blocks = choices.narrow(0, i, 1);
    const Selection selection = selected(chosen_blocks, block_size, length);
    const Result result = forward(problem_of(Selected{own, keys, values, chosen_blocks, scale, block_size}, selection));
    outs.select(0, i).copy_(result.out.flatten(0, 2));
  }
}

}  // namespace

#define SELECT_OPTIONS                              \
  {{actualSeqQLenOptional, actualSeqKvLenOptional}, \
   headNum,                                         \
   inputLayout,                                     \
   attenMaskOptional,                               \
   sparseMode,                                      \
   selectedBlockSize,                               \
   selectedBlockCount}
ACLNN(NsaSelectedAttention,
      (In, query)(In, key)(In, value)(In, topkIndices)(OptIn, attenMaskOptional)(OptInts, actualSeqQLenOptional)(
          OptInts, actualSeqKvLenOptional)(Double, scaleValue)(Int, headNum)(Text, inputLayout)(Int, sparseMode)(
          Int, selectedBlockSize)(Int, selectedBlockCount)(Out, softmaxMaxOut)(Out, softmaxSumOut)(Out, attentionOut),
      select_attend({query, key, value, topkIndices, scaleValue, selectedBlockSize}, SELECT_OPTIONS, softmaxMaxOut,
                    softmaxSumOut, attentionOut))
ACLNN(NsaSelectedAttentionGrad,
      (In, query)(In, key)(In, value)(In, attentionOut)(In, attentionOutGrad)(In, softmaxMax)(In, softmaxSum)(
          In, topkIndices)(OptInts, actualSeqQLenOptional)(OptInts, actualSeqKvLenOptional)(OptIn, attenMaskOptional)(
          Double, scaleValue)(Int, selectedBlockSize)(Int, selectedBlockCount)(Int, headNum)(Text, inputLayout)(
          Int, sparseMode)(Out, dqOut)(Out, dkOut)(Out, dvOut),
      select_attend_backward({query, key, value, topkIndices, scaleValue, selectedBlockSize}, SELECT_OPTIONS,
                             attentionOutGrad, softmaxMax, softmaxSum, dqOut, dkOut, dvOut))
// sparseMode is reserved, as documented: it has no effect.
ACLNN(NsaSelectedAttentionInfer,
      (In, query)(In, key)(In, value)(In, topkIndices)(OptIn, attenMaskOptional)(OptIndex, blockTableOptional)(
          OptInts, actualQSeqLenOptional)(OptInts, actualKvSeqLenOptional)(Text, layoutOptional)(Int, numHeads)(
          Int, numKeyValueHeads)(Int, selectBlockSize)(Int, selectBlockCount)(Int, pageBlockSize)(Double, scaleValue)(
          Int, sparseMode)(Out, output),
      refuse({{attenMaskOptional, "attenMask"}});
      select_attend_one(query, key, value, topkIndices, blockTableOptional,
                        {actualQSeqLenOptional, actualKvSeqLenOptional}, selectBlockSize, selectBlockCount, scaleValue,
                        PAGED, output))

#undef SELECT_OPTIONS
