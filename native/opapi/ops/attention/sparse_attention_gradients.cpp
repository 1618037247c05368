// native/opapi/ops/attention/sparse_attention_gradients.cpp
// Gradients of the lightning indexer and of attention to selected keys; the computation is in sparse_attention/.
#include "opapi/opapi.h"
#include "opapi/ops/common/unlimited_window.h"
#include "sparse_attention/gradients.h"

namespace {

// An output of a part that is absent has no elements.
at::Tensor* or_null(at::Tensor& tensor) { return tensor.defined() && tensor.numel() > 0 ? &tensor : nullptr; }

}  // namespace

ACLNN(LightningIndexerGrad,
      (In, query)(In, key)(In, dy)(In, sparseIndices)(In, weights)(OptIn, actualSeqQLenOptional)(
          OptIn, actualSeqKvLenOptional)(Int, headNum)(Text, inputLayout)(Int, sparseMode)(Int, preTokens)(
          Int, nextTokens)(Bool, deterministic)(Out, dqOut)(Out, dkOut)(Out, dweightsOut),
      (void)headNum;
      (void)deterministic; sparse::require_sparse_mode(sparseMode);
      if (sparseMode != 3) require_unlimited(preTokens, nextTokens);  // mode 3 has no window
      sparse::lightning_indexer_grad({query, key, weights, dy, sparseIndices, actualSeqQLenOptional,
                                      actualSeqKvLenOptional},
                                     inputLayout, {dqOut, dkOut, dweightsOut}))

ACLNN(SparseFlashAttentionGrad,
      (In, query)(In, key)(OptIn, value)(In, sparseIndices)(In, dOut)(In, out)(In, softmaxMax)(In, softmaxSum)(
          OptIn, actualSeqLengthsQueryOptional)(OptIn, actualSeqLengthsKvOptional)(OptIn, queryRopeOptional)(
          OptIn, keyRopeOptional)(Double, scaleValue)(Int, sparseBlockSize)(Text, layoutOptional)(Int, sparseMode)(
          Int, preTokens)(Int, nextTokens)(Bool, deterministic)(Out, dQueryOut)(Out, dKeyOut)(OptOut, dValueOut)(
          OptOut, dQueryRopeOutOptional)(OptOut, dKeyRopeOutOptional),
      (void)deterministic;
      require_unlimited(preTokens, nextTokens); sparse::sparse_flash_attention_grad(
          {query, key, value, sparseIndices, dOut, out, softmaxMax, softmaxSum, actualSeqLengthsQueryOptional,
           actualSeqLengthsKvOptional, queryRopeOptional, keyRopeOptional},
          {scaleValue, sparseBlockSize, layoutOptional, sparseMode},
          {dQueryOut, dKeyOut, or_null(dValueOut), or_null(dQueryRopeOutOptional), or_null(dKeyRopeOutOptional)}))
