// native/opapi/ops/attention/nsa_compress_attention.cpp
// Native sparse attention (NSA) to compressed keys, which also chooses the blocks of keys that each query looks at.
#include <algorithm>

#include "opapi/ops/attention/nsa_attention.h"

namespace {

using namespace opapi::attention;
using namespace opapi::attention::nsa;

struct BlockChoice {
  int64_t compressed_size, compressed_stride, block_size, block_count;

  void check() const {
    const bool positive = compressed_size > 0 && compressed_stride > 0 && block_size > 0 && block_count > 0;
    require(positive && compressed_size % compressed_stride == 0 && block_size % compressed_stride == 0,
            ACLNN_ERR_PARAM_INVALID, "compressBlockSize, compressStride, selectBlockSize and selectBlockCount are ",
            compressed_size, ", ", compressed_stride, ", ", block_size, " and ", block_count,
            "; they must be positive, the sizes multiples of the stride");
  }
  // Of so many compressed keys, in blocks.
  int64_t blocks_of(int64_t compressed) const {
    return compressed == 0 ? 0 : blocks((compressed - 1) * compressed_stride + compressed_size);
  }
  int64_t blocks(int64_t tokens) const { return (tokens + block_size - 1) / block_size; }
};

Problem problem_of(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, double scale) {
  Problem problem;
  problem.query = widened(query.transpose(0, 1).unsqueeze(0));
  problem.key = widened(key.transpose(0, 1).unsqueeze(0));
  problem.value = widened(value.transpose(0, 1).unsqueeze(0));
  problem.scale = scale;
  return problem;
}

// The probabilities that the heads of one key head give to the compressed keys, added up: [N, S, keys].
at::Tensor probabilities(const Problem& problem, const Result& result) {
  const int64_t groups = divided(problem.query.size(1), problem.key.size(1), "heads of the key");
  const at::Tensor keys = problem.key.repeat_interleave(groups, 1);
  at::Tensor scores = problem.query.matmul(keys.transpose(2, 3)).mul_(problem.scale);
  if (problem.hidden.defined()) scores.masked_fill_(problem.hidden, -kInfinity);
  return scores.sub_(result.highest).exp_().div_(result.sum).squeeze(0).unflatten(0, {-1, groups}).sum(1);
}

// The score of each of `blocks` blocks: each compressed key counts as many times as parts of it lie in the block.
at::Tensor scores_of_blocks(const at::Tensor& shares, int64_t blocks, const BlockChoice& choice) {
  const int64_t parts = choice.block_size / choice.compressed_stride;
  const int64_t parts_of_key = choice.compressed_size / choice.compressed_stride;
  at::Tensor result = at::zeros({shares.size(0), shares.size(1), blocks}, at::kFloat);
  const at::Tensor end = at::arange(1, blocks + 1).mul_(parts);
  for (int64_t back = 0; back < parts + parts_of_key - 1; ++back) {
    const int64_t times = std::min({back + 1, parts, parts_of_key, parts + parts_of_key - 1 - back});
    const at::Tensor key = at::sub(end, back);
    const at::Tensor inside = key.ge(0).logical_and_(key.lt(shares.size(2))).nonzero().squeeze(1);
    if (inside.numel() == 0) continue;
    const at::Tensor taken = shares.index_select(2, key.index_select(0, inside)).to(at::kFloat);
    result.index_add_(2, inside, taken, static_cast<double>(times));
  }
  return result;
}

// The blocks with the highest scores, earlier ones first among equals; -1 where there are none.
at::Tensor highest_blocks(const at::Tensor& scores, int64_t count) {
  const at::Tensor order = std::get<1>(scores.sort(/*stable=*/true, /*dim=*/2, /*descending=*/true));
  const int64_t found = std::min(count, order.size(2));
  return at::constant_pad_nd(order.narrow(2, 0, found), {0, count - found}, -1);
}

// The part of a mask for all sequences that is about one.
at::Tensor part(const at::Tensor& mask, int64_t queries, int64_t width, const char* name) {
  require(mask.dim() == 2 && mask.size(0) >= queries && mask.size(1) >= width, ACLNN_ERR_PARAM_INVALID, "parameter '",
          name, "' has shape ", mask.sizes(), "; for a sequence of ", queries, " queries it must be at least [",
          queries, ", ", width, "]");
  return mask.narrow(0, 0, queries).narrow(1, 0, width).to(at::kBool);
}

void compress_attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const OptionalTensor& mask, const OptionalTensor& block_mask, const Lengths& lengths,
                     at::OptionalIntArrayRef block_ends, double scale, int64_t heads, const std::string& layout,
                     int64_t sparse_mode, const BlockChoice& choice, at::Tensor& highest, at::Tensor& sum,
                     at::Tensor& out, at::Tensor& chosen) {
  check_packed(query, key, value, heads, layout);
  choice.check();
  require(sparse_mode == 0 || sparse_mode == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'sparseMode' is ", sparse_mode,
          "; it must be 0 or 1");
  const std::vector<Span> queries = spans_of(lengths.queries, query, "actualSeqQLen");
  const std::vector<Span> keys = spans_of(lengths.keys, key, "actualCmpSeqKvLen");
  require(block_ends && block_ends->size() == queries.size() && keys.size() == queries.size(), ACLNN_ERR_PARAM_INVALID,
          "there are ends of ", queries.size(), " sequences of queries, ", keys.size(), " of compressed keys and ",
          block_ends ? block_ends->size() : 0, " of blocks");
  constexpr double kChosen = 23333;  // more than any probability
  for (at::Tensor* one : {&highest, &sum, &out}) one->zero_();
  chosen.fill_(-1);
  int64_t block = 0;
  for (size_t i = 0; i < queries.size(); ++i) {
    const auto [batch, start, length] = queries[i];
    const int64_t blocks = (*block_ends)[i] - block;
    block = (*block_ends)[i];
    require(blocks >= 0, ACLNN_ERR_PARAM_INVALID, "parameter 'actualSelSeqKvLen' is ", *block_ends,
            "; the ends must not decrease");
    if (length == 0) continue;
    const auto of = [](const at::Tensor& tensor, const Span& span) {
      return tensor.narrow(0, span.start, span.length);
    };
    Problem problem = problem_of(of(query, queries[i]), of(key, keys[i]), of(value, keys[i]), scale);
    if (mask) problem.hidden = part(*mask, length, keys[i].length, "attenMask");
    const Result result = forward(problem);
    out.narrow(0, start, length).copy_(result.out.squeeze(0).transpose(0, 1));
    // Statistics lie head by head in each sequence, repeated over a block of 8.
    highest.narrow(0, start, length).view({1, heads, length, -1}).copy_(result.highest);
    sum.narrow(0, start, length).view({1, heads, length, -1}).copy_(result.sum);
    at::Tensor scores = scores_of_blocks(probabilities(problem, result), blocks, choice);
    if (block_mask) scores.masked_fill_(part(*block_mask, length, blocks, "topkMask"), kChosen);
    chosen.narrow(0, start, length).copy_(highest_blocks(scores, choice.block_count).transpose(0, 1));
  }
}

// One query for each sequence: the first block and the last two are always chosen.
void compress_attend_one(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                         const OptionalTensor& table, const Lengths& lengths, at::OptionalIntArrayRef uncompressed,
                         const BlockChoice& choice, double scale, const PagedOptions& options, at::Tensor& out,
                         at::Tensor& chosen) {
  choice.check();
  const at::Tensor queries = one_query_each(query, options);
  check_paged(table, lengths, queries, options);
  const at::IntArrayRef tokens = uncompressed.value_or(at::IntArrayRef());
  require(tokens.empty() || tokens.size() == lengths.keys->size(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'actualSelKvSeqLen' is ", tokens, "; it must have a length for each of ", lengths.keys->size(),
          " sequences");
  at::Tensor outs = out.view({queries.size(0), 1, options.heads, -1});
  at::Tensor choices = chosen.view({queries.size(0), 1, options.key_heads, -1});
  for (int64_t i = 0; i < queries.size(0); ++i) {
    const int64_t length = (*lengths.keys)[i];
    const at::Tensor keys = from_pages(key, *table, i, length, options, "key");
    const at::Tensor values = from_pages(value, *table, i, length, options, "value");
    const Problem problem = problem_of(queries.narrow(0, i, 1), keys, values, scale);
    const Result result = forward(problem);
    outs.select(0, i).copy_(result.out.squeeze(0).transpose(0, 1));
    const int64_t blocks = choice.blocks_of(length);
    require(tokens.empty() || choice.blocks(tokens[i]) == blocks, ACLNN_ERR_PARAM_INVALID,
            "parameter 'actualSelKvSeqLen' is ", tokens, "; for sequence ", i, " available are lengths of ", blocks,
            " blocks, which its ", length, " compressed keys stand for");
    at::Tensor scores = scores_of_blocks(probabilities(problem, result), blocks, choice);
    if (blocks > 0) scores.narrow(2, 0, 1).fill_(kInfinity);
    const int64_t last = std::min<int64_t>(blocks, 2);
    scores.narrow(2, blocks - last, last).fill_(kInfinity);
    choices.select(0, i).copy_(highest_blocks(scores, choice.block_count).transpose(0, 1));
  }
}

}  // namespace

ACLNN(NsaCompressAttention,
      (In, query)(In, key)(In, value)(OptIn, attenMaskOptional)(OptIn, topkMaskOptional)(OptInts,
                                                                                         actualSeqQLenOptional)(
          OptInts, actualCmpSeqKvLenOptional)(OptInts, actualSelSeqKvLenOptional)(Double, scaleValue)(Int, headNum)(
          Text, inputLayout)(Int, sparseMode)(Int, compressBlockSize)(Int, compressStride)(Int, selectBlockSize)(
          Int, selectBlockCount)(Out, softmaxMaxOut)(Out, softmaxSumOut)(Out, attentionOutOut)(Out, topkIndicesOut),
      compress_attend(query, key, value, attenMaskOptional, topkMaskOptional,
                      {actualSeqQLenOptional, actualCmpSeqKvLenOptional}, actualSelSeqKvLenOptional, scaleValue,
                      headNum, inputLayout, sparseMode,
                      {compressBlockSize, compressStride, selectBlockSize, selectBlockCount}, softmaxMaxOut,
                      softmaxSumOut, attentionOutOut, topkIndicesOut))
// sparseMode says how attentionMask is read; there is none.
ACLNN(NsaCompressAttentionInfer,
      (In, query)(In, key)(In, value)(OptIn, attentionMaskOptional)(OptIndex, blockTableOptional)(
          OptInts, actualQSeqLenOptional)(OptInts, actualCmpKvSeqLenOptional)(OptInts, actualSelKvSeqLenOptional)(
          OptIn, topKMaskOptional)(Int, numHeads)(Int, numKeyValueHeads)(Int, selectBlockSize)(Int, selectBlockCount)(
          Int, compressBlockSize)(Int, compressBlockStride)(Double, scaleValue)(Text, layoutOptional)(
          Int, pageBlockSize)(Int, sparseMode)(Out, output)(Out, topKOutput),
      refuse({{attentionMaskOptional, "attentionMask"}, {topKMaskOptional, "topKMask"}});
      compress_attend_one(query, key, value, blockTableOptional, {actualQSeqLenOptional, actualCmpKvSeqLenOptional},
                          actualSelKvSeqLenOptional,
                          {compressBlockSize, compressBlockStride, selectBlockSize, selectBlockCount}, scaleValue,
                          PAGED, output, topKOutput))
