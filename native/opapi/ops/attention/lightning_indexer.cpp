// native/opapi/ops/attention/lightning_indexer.cpp
// The keys that sparse attention looks at.
#include "sparse_attention/lightning_indexer.h"

#include "opapi/opapi.h"
#include "opapi/ops/common/unlimited_window.h"
#include "runtime/soc.h"

namespace {

// Refuses what one family of chips does not take, although the others do.
void check_950(const at::Tensor& query, const at::Tensor& weights) {
  if (!soc().is_ascend950()) return;
  require(weights.scalar_type() != at::kFloat, ACLNN_ERR_PARAM_INVALID,
          "parameter 'weights' has dtype Float; on Ascend950 it must be that of parameter 'query'");
  const int64_t heads = query.dim() < 2 ? 0 : query.size(-2);
  require(heads == 8 || heads == 16 || heads == 24 || heads == 32 || heads == 64, ACLNN_ERR_PARAM_INVALID,
          "parameter 'query' has ", heads, " heads; on Ascend950 it must have 8, 16, 24, 32 or 64");
}

// Null layouts are the default.
const std::string& layout_or_default(const std::string& layout) {
  static const std::string kDefault = "BSND";
  return layout.empty() ? kDefault : layout;
}

struct LightningOptions {
  const std::string &query_layout, &key_layout;
  int64_t count, sparse_mode, pre_tokens, next_tokens;

  sparse::IndexerOptions checked() const {
    require_unlimited(pre_tokens, next_tokens);
    return {layout_or_default(query_layout), layout_or_default(key_layout), count, sparse_mode};
  }
};

void lightning_indexer(const sparse::IndexerOperands& operands, const LightningOptions& options, bool return_values,
                       at::Tensor& indices, at::Tensor& values) {
  check_950(operands.query, operands.weights);
  sparse::lightning_indexer(operands, options.checked(), indices, return_values ? &values : nullptr);
}

void quant_lightning_indexer(const sparse::QuantizedIndexerOperands& operands, int64_t query_mode, int64_t key_mode,
                             const LightningOptions& options, at::Tensor& out) {
  require(query_mode == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'query_quant_mode' is ", query_mode, "; it must be 0");
  require(key_mode == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'key_quant_mode' is ", key_mode, "; it must be 0");
  check_950(operands.query, operands.weights);
  sparse::quant_lightning_indexer(operands, options.checked(), out);
}

}  // namespace

ACLNN(LightningIndexer,
      (In, query)(In, key)(In, weights)(OptIn, actualSeqLengthsQueryOptional)(OptIn, actualSeqLengthsKeyOptional)(
          OptIn, blockTableOptional)(Text, layoutQueryOptional)(Text, layoutKeyOptional)(Int, sparseCount)(
          Int, sparseMode)(Int, preTokens)(Int, nextTokens)(Bool, returnValues)(Out, sparseIndicesOut)(Out,
                                                                                                       sparseValuesOut),
      lightning_indexer({query, key, weights, actualSeqLengthsQueryOptional, actualSeqLengthsKeyOptional,
                         blockTableOptional},
                        {layoutQueryOptional, layoutKeyOptional, sparseCount, sparseMode, preTokens, nextTokens},
                        returnValues, sparseIndicesOut, sparseValuesOut))

ACLNN(QuantLightningIndexer,
      (In, query)(In, key)(In, weights)(In, queryDequantScale)(In, keyDequantScale)(
          OptIn, actualSeqLengthsQueryOptional)(OptIn, actualSeqLengthsKeyOptional)(OptIn, blockTableOptional)(
          Int, queryQuantMode)(Int, keyQuantMode)(Text, layoutQueryOptional)(Text, layoutKeyOptional)(Int, sparseCount)(
          Int, sparseMode)(Int, preTokens)(Int, nextTokens)(Out, out),
      quant_lightning_indexer({query, key, weights, queryDequantScale, keyDequantScale, actualSeqLengthsQueryOptional,
                               actualSeqLengthsKeyOptional, blockTableOptional},
                              queryQuantMode, keyQuantMode,
                              {layoutQueryOptional, layoutKeyOptional, sparseCount, sparseMode, preTokens, nextTokens},
                              out))
