// native/opapi/ops/attention/sparse_flash_attention.cpp
// Attention to the keys that an indexer has selected; the computation is in sparse_attention/.
#include "sparse_attention/sparse_flash_attention.h"

#include "opapi/opapi.h"
#include "opapi/ops/common/unlimited_window.h"
#include "runtime/soc.h"

namespace {

// A parameter of which the operator has one value.
void require_only(int64_t value, int64_t allowed, const char* name, const char* why) {
  require(value == allowed, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is ", value, "; it must be ", allowed,
          why);
}

void require_absorbed(int64_t attention_mode) {
  require_only(attention_mode, 2, "attention_mode",
               " (MLA, absorbed); 0, the default of torch_npu, is not a mode of this operator: pass attention_mode=2");
}

// Limits of one family of chips that others do not have. The core refuses what none takes: more than 128 heads,
// blocks that are no power of two.

constexpr int64_t kMostHeads = 128;

bool is_power_of_two(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

void check_heads(const at::Tensor& query, bool is_taken, const char* allowed) {
  require(is_taken, ACLNN_ERR_PARAM_INVALID, "parameter 'query' has ", query.size(-2), " heads; on ", soc().name,
          " it must have ", allowed);
}

void check_block_950(int64_t block) {
  require(block == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'sparse_block_size' is ", block, "; on ", soc().name,
          " it must be 1");
}

void check_chip(const sparse::SparseAttentionOperands& operands, int64_t block) {
  const at::Tensor& query = operands.query;
  if (query.dim() < 2 || query.size(-2) > kMostHeads) return;
  if (soc().is_ascend950()) {
    check_block_950(block);
  } else {
    check_heads(query, is_power_of_two(query.size(-2)), "1, 2, 4, 8, 16, 32, 64 or 128");
  }
}

void check_chip(const sparse::QuantizedSparseAttentionOperands& operands, int64_t block) {
  const at::Tensor &query = operands.query, &key = operands.key;
  if (query.dim() < 2 || query.size(-2) > kMostHeads) return;
  const int64_t heads = query.size(-2);
  if (soc().is_ascend950()) {
    check_heads(query, is_power_of_two(heads) || heads == 48, "1, 2, 4, 8, 16, 32, 48, 64 or 128");
    check_block_950(block);
    return;
  }
  check_heads(query, is_power_of_two(heads), "1, 2, 4, 8, 16, 32, 64 or 128");
  require(key.scalar_type() != at::kFloat8_e4m3fn, ACLNN_ERR_PARAM_INVALID,
          "parameter 'key' has dtype Float8_e4m3fn; on ", soc().name, " it must be int8");
  require(block <= 16, ACLNN_ERR_PARAM_INVALID, "parameter 'sparse_block_size' is ", block, "; on ", soc().name,
          " it must be a power of two from 1 to 16");
}

void attend(const sparse::SparseAttentionOperands& operands, const sparse::SparseAttentionOptions& options,
            bool wants_statistics, at::Tensor& out, at::Tensor& highest, at::Tensor& sum) {
  check_chip(operands, options.block_size);
  sparse::Statistics statistics;
  if (wants_statistics) statistics = {&highest, &sum};
  sparse::sparse_flash_attention(operands, options, out, statistics);
}

struct QuantizedOptions {
  int64_t key_quant_mode, value_quant_mode, quant_scale_repo_mode, tile_size, rope_head_dim;
};

void require_usual(const QuantizedOptions& options) {
  require_only(options.key_quant_mode, 2, "key_quant_mode", " (a scale for each tile)");
  require_only(options.value_quant_mode, 2, "value_quant_mode", " (a scale for each tile)");
  require_only(options.quant_scale_repo_mode, 1, "quant_scale_repo_mode", " (scales are stored with their token)");
  require_only(options.tile_size, 128, "tile_size", "");
  require_only(options.rope_head_dim, 64, "rope_head_dim", "");
}

void attend(const sparse::QuantizedSparseAttentionOperands& operands, const sparse::SparseAttentionOptions& options,
            at::Tensor& out) {
  check_chip(operands, options.block_size);
  sparse::kv_quant_sparse_flash_attention(operands, options, out);
}

void refuse(const OptionalTensor& tensor, const char* name) {
  require(!tensor, ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' is given; it is reserved: scales are stored with their token, pass None");
}

}  // namespace

#define TABLES (OptIn, blockTable)(OptIn, actualSeqLengthsQuery)(OptIn, actualSeqLengthsKv)
#define ATTEND_IN (In, query)(In, key)(OptIn, value)(In, sparseIndices)TABLES(OptIn, queryRope)(OptIn, keyRope)
#define ATTEND_OPTIONS                                                                                            \
  (Double, scaleValue)(Int, sparseBlockSize)(Text, layoutQuery)(Text, layoutKv)(Int, sparseMode)(Int, preTokens)( \
      Int, nextTokens)(Int, attentionMode)
#define ATTEND_OUT (Bool, returnSoftmaxLse)(Out, attentionOut)(OptOut, softmaxMax)(OptOut, softmaxSum)
#define OPTIONS {scaleValue, sparseBlockSize, layoutQuery, layoutKv, sparseMode}
#define ATTEND(SINKS)                                                                                             \
  require_unlimited(preTokens, nextTokens);                                                                       \
  require_absorbed(attentionMode);                                                                                \
  attend({query, key, value ? *value : key, sparseIndices, blockTable, actualSeqLengthsQuery, actualSeqLengthsKv, \
          queryRope, keyRope, SINKS},                                                                             \
         OPTIONS, returnSoftmaxLse, attentionOut, softmaxMax, softmaxSum)

ACLNN(SparseFlashAttention, ATTEND_IN ATTEND_OPTIONS ATTEND_OUT, ATTEND(kNone))
ACLNN(SparseFlashAttentionV2, ATTEND_IN(OptIn, sinks) ATTEND_OPTIONS ATTEND_OUT, ATTEND(sinks))

#define QUANTIZED_IN \
  (In, query)(In, key)(In, value)(In, sparseIndices)(OptIn, keyDequantScale)(OptIn, valueDequantScale)TABLES
#define QUANTIZED_OPTIONS                                                                                             \
  (Double, scaleValue)(Int, keyQuantMode)(Int, valueQuantMode)(Int, sparseBlockSize)(Text, layoutQuery)(              \
      Text, layoutKv)(Int, sparseMode)(Int, preTokens)(Int, nextTokens)(Int, attentionMode)(Int, quantScaleRepoMode)( \
      Int, tileSize)(Int, ropeHeadDim)(Out, attentionOut)
#define QUANTIZED(SINKS)                                                                                            \
  require_unlimited(preTokens, nextTokens);                                                                         \
  require_absorbed(attentionMode);                                                                                  \
  require_usual({keyQuantMode, valueQuantMode, quantScaleRepoMode, tileSize, ropeHeadDim});                         \
  refuse(keyDequantScale, "key_dequant_scale");                                                                     \
  refuse(valueDequantScale, "value_dequant_scale");                                                                 \
  attend({query, key, value, sparseIndices, blockTable, actualSeqLengthsQuery, actualSeqLengthsKv, SINKS}, OPTIONS, \
         attentionOut)

ACLNN(KvQuantSparseFlashAttention, QUANTIZED_IN QUANTIZED_OPTIONS, QUANTIZED(kNone))
ACLNN(KvQuantSparseFlashAttentionV2, QUANTIZED_IN(OptIn, sinks) QUANTIZED_OPTIONS, QUANTIZED(sinks))

#undef TABLES
#undef ATTEND_IN
#undef ATTEND_OPTIONS
#undef ATTEND_OUT
#undef OPTIONS
#undef ATTEND
#undef QUANTIZED_IN
#undef QUANTIZED_OPTIONS
#undef QUANTIZED
