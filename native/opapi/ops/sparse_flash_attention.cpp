// native/opapi/ops/sparse_flash_attention.cpp
// Attention to the keys that an indexer has selected; the computation is in sparse_attention/.
#include "sparse_attention/sparse_flash_attention.h"

#include "opapi/opapi.h"
#include "opapi/ops/unlimited_window.h"

namespace {

using OptionalTensor = std::optional<at::Tensor>;

const OptionalTensor kNone;

// A parameter of which the operator has one value.
void require_only(int64_t value, int64_t allowed, const char* name, const char* why) {
  require(value == allowed, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is ", value, "; it must be ", allowed,
          why);
}

void require_absorbed(int64_t attention_mode) {
  require_only(attention_mode, 2, "attention_mode",
               " (MLA, absorbed); 0, the default of torch_npu, is not a mode of this operator: pass attention_mode=2");
}

void attend(const sparse::SparseAttentionOperands& operands, const sparse::SparseAttentionOptions& options,
            bool wants_statistics, at::Tensor& out, at::Tensor& highest, at::Tensor& sum) {
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
#define QUANTIZED(SINKS)                                                                                         \
  require_unlimited(preTokens, nextTokens);                                                                      \
  require_absorbed(attentionMode);                                                                               \
  require_usual({keyQuantMode, valueQuantMode, quantScaleRepoMode, tileSize, ropeHeadDim});                      \
  refuse(keyDequantScale, "key_dequant_scale");                                                                  \
  refuse(valueDequantScale, "value_dequant_scale");                                                              \
  sparse::kv_quant_sparse_flash_attention(                                                                       \
      {query, key, value, sparseIndices, blockTable, actualSeqLengthsQuery, actualSeqLengthsKv, SINKS}, OPTIONS, \
      attentionOut)

ACLNN(KvQuantSparseFlashAttention, QUANTIZED_IN QUANTIZED_OPTIONS, QUANTIZED(kNone))
ACLNN(KvQuantSparseFlashAttentionV2, QUANTIZED_IN(OptIn, sinks) QUANTIZED_OPTIONS, QUANTIZED(sinks))
