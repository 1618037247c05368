// native/atb/ops/sequences.h
// Attention of sequences that lie one after the other in their tensors, one sequence at a time.
#pragma once

#include "atb/function.h"
#include "atb/params.h"
#include "opapi/ops/attention/attention.h"

namespace opwright::atb_library {

// The tokens of a sequence: where its queries begin, how many there are, and how many keys.
struct Sequence {
  int64_t index, start, queries, keys;
};

// Throws where the lengths are not those of `tokens` rows of queries.
std::vector<Sequence> sequences_of(at::IntArrayRef query_lengths, at::IntArrayRef key_lengths, int64_t tokens);
// Each token is a sequence.
std::vector<Sequence> single_queries(at::IntArrayRef key_lengths, int64_t tokens);

// [tokens, N, D] as [1, N, tokens, D], in float32.
at::Tensor by_head(const at::Tensor& tokens);
// [tokens, N * D] or [tokens, N, D] as [tokens, N, D].
at::Tensor with_heads(const at::Tensor& tokens, int64_t heads);

// The first tokens of a sequence, [tokens, N, D], from a cache [blocks, block size, N, D]; throws for a block that the
// cache does not have.
at::Tensor tokens_of(const at::Tensor& cache, const at::Tensor& block_tables, const Sequence& sequence,
                     const char* name);

// The keys that come after a query, [queries, keys], where the first query stands at position `offset`.
at::Tensor keys_after(const Sequence& sequence, int64_t offset);

// A mask that is added to the scores, as [1, N or 1, queries, keys]: its first rows and columns. Of three dimensions
// the first counts heads or sequences; of four the first counts sequences. A first dimension of 1 serves all.
at::Tensor added_mask(const at::Tensor& mask, const Sequence& sequence, bool by_heads, int64_t heads);

// Writes the result [1, N, queries, D] into the sequence's rows of `out`, [tokens, N, D].
void write_rows(at::Tensor& out, const Sequence& sequence, const at::Tensor& result);

// The logarithm of the sum of a row's exponentials, [1, N, queries, 1].
inline at::Tensor log_sum(const opapi::attention::Result& result) { return result.sum.log().add_(result.highest); }

// Throws for parameters that all kinds of attention have, where the twin lacks what they ask for.
template <class Param>
void check_attention(const Param& param) {
  require_no_reserved(param);
  require_param(param.headNum > 0, "headNum", param.headNum, "1 and more");
  require_param(param.kvHeadNum >= 0 && (param.kvHeadNum == 0 || param.headNum % param.kvHeadNum == 0), "kvHeadNum",
                param.kvHeadNum, "0, or a divisor of headNum");
  require_param(param.quantType == 0, "quantType", param.quantType,
                "0 (TYPE_QUANT_UNDEFINED): quantised attention is not available on the twin");
  require_param(param.outDataType == ACL_DT_UNDEFINED, "outDataType", static_cast<int>(param.outDataType),
                "-1 (ACL_DT_UNDEFINED): quantised attention is not available on the twin");
  require_param(!param.batchRunStatusEnable, "batchRunStatusEnable", param.batchRunStatusEnable,
                "false: batches that change are not available on the twin");
  require_param(param.scaleType == 0, "scaleType", param.scaleType,
                "0 (SCALE_TYPE_TOR): scaling by a logarithm is not available on the twin");
  require_param(param.inputLayout == atb::infer::TYPE_BSND, "inputLayout", static_cast<int>(param.inputLayout),
                "0 (TYPE_BSND): TYPE_BNSD is not available on the twin");
}

}  // namespace opwright::atb_library
