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
      (In, query)(In, key)(In, dy)(In, sparseIndices)(In, weights)(OptIn, actualSeqLengthsQuery)(
          OptIn, actualSeqLengthsKey)(Int, headNum)(Text, layout)(Int, sparseMode)(Int, preTokens)(Int, nextTokens)(
          Bool, determinstic)(Out, dQuery)(Out, dKey)(Out, dWeights),
      (void)headNum;
      (void)determinstic; sparse::require_sparse_mode(sparseMode);
      if (sparseMode != 3) require_unlimited(preTokens, nextTokens);  // mode 3 has no window
      sparse::lightning_indexer_grad({query, key, weights, dy, sparseIndices, actualSeqLengthsQuery,
                                      actualSeqLengthsKey},
                                     layout, {dQuery, dKey, dWeights}))

ACLNN(SparseFlashAttentionGrad,
      (In, query)(In, key)(OptIn, value)(In, sparseIndices)(In, dOut)(In, out)(In, softmaxMax)(In, softmaxSum)(
          OptIn, actualSeqLengthsQuery)(OptIn, actualSeqLengthsKv)(OptIn, queryRope)(OptIn, keyRope)(
          Double, scaleValue)(Int, sparseBlockSize)(Text, layout)(Int, sparseMode)(Int, preTokens)(Int, nextTokens)(
          Bool, deterministic)(Out, dQuery)(Out, dKey)(OptOut, dValue)(OptOut, dQueryRope)(OptOut, dKeyRope),
      (void)deterministic;
      require_unlimited(preTokens, nextTokens);
      sparse::sparse_flash_attention_grad({query, key, value, sparseIndices, dOut, out, softmaxMax, softmaxSum,
                                           actualSeqLengthsQuery, actualSeqLengthsKv, queryRope, keyRope},
                                          {scaleValue, sparseBlockSize, layout, sparseMode},
                                          {dQuery, dKey, or_null(dValue), or_null(dQueryRope), or_null(dKeyRope)}))
