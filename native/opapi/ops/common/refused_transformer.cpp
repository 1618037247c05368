// native/opapi/ops/common/refused_transformer.cpp
// Functions for transformers and for images that programs can link to, and that phase 1 refuses: most are of another
// chip, some nobody has written yet.
#include "opapi/ops/common/refused.h"

namespace {

constexpr const char* kMissing = "nobody has written it yet";

}  // namespace

#define OPWRIGHT_REFUSED_FUNCTION(NAME, PARAMS, REASON) \
  OPWRIGHT_MARK_REFUSED(aclnn##NAME);                   \
  ACLNN(NAME, PARAMS, refuse_function(REASON))

OPWRIGHT_REFUSED_FUNCTION(
    CausalConv1dFn,
    (OptIn, x)(OptIn, weight)(OptOut, convStatesRef)(OptIn, biasOptional)(OptIn, queryStartLocOptional)(
        OptIn, cacheIndicesOptional)(OptIn, initialStateModeOptional)(OptIn, blockIdxFirstScheduledTokenOptional)(
        OptIn, blockIdxLastScheduledTokenOptional)(OptIn, initialStateIdxOptional)(OptIn, numComputedTokensOptional)(
        Text, activation)(Int, nullBlockId)(Int, blockSizeToAlign)(OptOut, y),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    CausalConv1dUpdate,
    (OptIn, x)(OptIn, weight)(OptOut, convStatesRef)(OptIn, biasOptional)(OptIn, queryStartLocOptional)(
        OptIn, cacheIndicesOptional)(OptIn, numAcceptedTokensOptional)(OptIn, blockIdxLastScheduledTokenOptional)(
        OptIn, initialStateIdxOptional)(Text, activation)(Int, nullBlockId)(Int, maxQueryLen)(OptOut, y),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(GroupedMatmulActivationQuantWeightNz,
                          (OptIn, x)(OptIn, groupList)(OptTensorList, weight)(OptTensorList, weightScale)(OptTensorList,
                                                                                                          bias)(
                              OptIn, xScaleOptional)(Text, activationType)(Int, groupListType)(OptInts, tuningConfig)(
                              Text, quantMode)(Text, roundMode)(Int, scaleAlg)(Float, dstTypeMax)(OptOut, y)(OptOut,
                                                                                                             yScale),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(IndexerQuantCache,
                          (OptOut, cacheRef)(OptOut, cacheScaleRef)(OptIn, x)(OptIn, slotMapping)(Int, quantMode)(
                              Bool, roundScale)(Float, xScale),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(InplacePartialRotaryMulGrad,
                          (OptOut, dyRef)(OptIn, cos)(OptIn, sin)(Int, rotaryMode)(OptInts, partialSlice), kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(KvCompressEpilog,
                          (OptOut, cacheRef)(OptIn, x)(OptIn, slotMapping)(Int, quantGroupSize)(Int, quantMode)(
                              Bool, roundScale)(Float, xScale),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    MixedQuantSparseFlashMla,
    (OptIn, q)(OptIn, oriKvOptional)(OptIn, cmpKvOptional)(OptIn, oriSparseIndicesOptional)(
        OptIn, cmpSparseIndicesOptional)(OptIn, oriBlockTableOptional)(OptIn, cmpBlockTableOptional)(
        OptIn, cuSeqlensQOptional)(OptIn, cuSeqlensOriKvOptional)(OptIn, cuSeqlensCmpKvOptional)(
        OptIn, sequsedQOptional)(OptIn, sequsedOriKvOptional)(OptIn, sequsedCmpKvOptional)(
        OptIn, cmpResidualKvOptional)(OptIn, oriTopkLengthOptional)(OptIn, cmpTopkLengthOptional)(OptIn, sinksOptional)(
        OptIn, metadataOptional)(Int, quantMode)(Int, ropeHeadDim)(Double, softmaxScale)(Int, cmpRatio)(
        Int, oriMaskMode)(Int, cmpMaskMode)(Int, oriWinLeft)(Int, oriWinRight)(Text, layoutQOptional)(
        Text, layoutKvOptional)(Int, topkValueMode)(Bool, returnSoftmaxLse)(OptOut, attnOutOut)(OptOut,
                                                                                                softmaxLseOutOptional),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    MixedQuantSparseFlashMlaMetadata,
    (OptIn, cuSeqlensQOptional)(OptIn, cuSeqlensOriKvOptional)(OptIn, cuSeqlensCmpKvOptional)(OptIn, sequsedQOptional)(
        OptIn, sequsedOriKvOptional)(OptIn, sequsedCmpKvOptional)(OptIn, cmpResidualKvOptional)(
        OptIn, oriTopkLengthOptional)(OptIn, cmpTopkLengthOptional)(Int, numHeadsQ)(Int, numHeadsKv)(Int, headDim)(
        Int, quantMode)(Int, batchSize)(Int, maxSeqlenQ)(Int, maxSeqlenOriKv)(Int, maxSeqlenCmpKv)(Int, oriTopk)(
        Int, cmpTopk)(Int, ropeHeadDim)(Int, cmpRatio)(Int, oriMaskMode)(Int, cmpMaskMode)(Int, oriWinLeft)(
        Int, oriWinRight)(Text, layoutQOptional)(Text, layoutKvOptional)(Bool, hasOriKv)(Bool, hasCmpKv)(OptOut,
                                                                                                         metaData),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    MoeDistributeCombineSetup,
    (OptIn, expandX)(OptIn, expertIds)(OptIn, assistInfoForCombine)(Text, groupEp)(Int, epWorldSize)(Int, epRankId)(
        Int, moeExpertNum)(Int, expertSharedType)(Int, sharedExpertNum)(Int, sharedExpertRankNum)(Int, globalBs)(
        Int, commQuantMode)(Int, commType)(Text, commAlg)(OptOut, quantExpandXOut)(OptOut, commCmdInfoOut),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    MoeDistributeCombineTeardown,
    (OptIn, expandX)(OptIn, quantExpandX)(OptIn, expertIds)(OptIn, expandIdx)(OptIn, expertScales)(OptIn, commCmdInfo)(
        OptIn, xActiveMaskOptional)(OptIn, sharedExpertXOptional)(Text, groupEp)(Int, epWorldSize)(Int, epRankId)(
        Int, moeExpertNum)(Int, expertShardType)(Int, sharedExpertNum)(Int, sharedExpertRankNum)(Int, globalBs)(
        Int, commQuantMode)(Int, commType)(Text, commAlg)(OptOut, xOut),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(MoeDistributeDispatchSetup,
                          (OptIn, x)(OptIn, expertIds)(OptIn, scalesOptional)(OptIn, xActiveMaskOptional)(
                              Text, groupEp)(Int, epWorldSize)(Int, epRankId)(Int, moeExpertNum)(Int, expertShardType)(
                              Int, sharedExpertNum)(Int, sharedExpertRankNum)(Int, quantMode)(Int, globalBs)(
                              Int, commType)(Text, commAlg)(OptOut, yOut)(OptOut, expandIdxOut)(OptOut, commCmdInfoOut),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    MoeDistributeDispatchTeardown,
    (OptIn, x)(OptOut, y)(OptIn, expertIds)(OptIn, commCmdInfo)(Text, groupEp)(Int, epWorldSize)(Int, epRankId)(
        Int, moeExpertNum)(Int, expertShardType)(Int, sharedExpertNum)(Int, sharedExpertRankNum)(Int, quantMode)(
        Int, globalBs)(Int, expertTokenNumsType)(Int, commType)(Text, commAlg)(OptOut, expandXOut)(
        OptOut, dynamicScalesOut)(OptOut, assistInfoForCombineOut)(OptOut, expertTokenNumsOut),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    QkvRmsNormRopeCacheWithKScale,
    (OptIn, qkv)(OptIn, qGamma)(OptIn, kGamma)(OptIn, cosSin)(OptIn, slotMapping)(OptOut, kCacheRef)(OptOut, vCacheRef)(
        OptOut, kScaleCacheRef)(OptIn, queryStartLoc)(OptIn, seqLens)(OptIn, rotationOptional)(OptIn, vScaleOptional)(
        OptInts, headNums)(Text, layoutQkv)(Text, layoutQOut)(Float, epsilon)(OptOut, qOut)(OptIn, qScale),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(QuantAllReduce, (OptIn, x)(OptIn, scales)(Text, group)(Text, reduceOp)(OptIn, output),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(QuantReduceScatter, (OptIn, x)(OptIn, scales)(Text, group)(Text, reduceOp)(OptIn, output),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(RoiPoolingGradWithArgMax,
                          (OptOut, gradOutput)(OptOut, gradInputRef)(OptIn, rois)(OptIn, argmax)(Int, pooledH)(
                              Int, pooledW)(Double, spatialScale),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(RoiPoolingWithArgMax,
                          (OptIn, x)(OptIn, rois)(Int, pooled_h)(Int, pooled_w)(Float, spatial_scale_h)(
                              Float, spatial_scale_w)(OptOut, y)(OptIn, argmax),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(ScatterPaKvCacheWithKScale,
                          (OptIn, key)(OptIn, value)(OptOut, keyCacheRef)(OptOut, valueCacheRef)(OptIn, slotMapping)(
                              OptIn, keyScale)(OptOut, keyScaleCacheRef)(Text, cacheLayoutOptional),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    SparseFlashMlaGradMetadata,
    (OptIn, cuSeqlensQOptional)(OptIn, cuSeqlensOriKvOptional)(OptIn, cuSeqlensCmpKvOptional)(OptIn, sequsedQOptional)(
        OptIn, sequsedOriKvOptional)(OptIn, sequsedCmpKvOptional)(OptIn, cmpResidualKvOptional)(
        OptIn, oriTopkLengthOptional)(OptIn, cmpTopkLengthOptional)(Int, numHeadsQ)(Int, numHeadsKv)(Int, headDim)(
        Int, batchSize)(Int, maxSeqlenQ)(Int, maxSeqlenOriKv)(Int, maxSeqlenCmpKv)(Int, oriTopk)(Int, cmpTopk)(
        Int, cmpRatio)(Int, oriMaskMode)(Int, cmpMaskMode)(Int, oriWinLeft)(Int, oriWinRight)(Text, layoutQOptional)(
        Text, layoutKvOptional)(Bool, hasOriKv)(Bool, hasCmpKv)(OptOut, metaData),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    FlashAttn,
    (OptIn, q)(OptIn, k)(OptIn, v)(OptIn, blockTableOptional)(OptIn, cuSeqlensQOptional)(OptIn, cuSeqlensKvOptional)(
        OptIn, sequsedQOptional)(OptIn, sequsedKvOptional)(OptIn, sinksOptional)(OptIn, attnMaskOptional)(
        OptIn, metadataOptional)(Double, softmaxScale)(Int, maskMode)(Int, winLeft)(Int, winRight)(Int, maxSeqlenQ)(
        Int, maxSeqlenKV)(Text, layoutQ)(Text, layoutKv)(Text, layoutOut)(Int, returnSoftmaxLse)(OptOut, attnOut)(
        OptIn, softmaxLseOptional),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    FlashAttnMetadata,
    (OptIn, cuSeqlensQOptional)(OptIn, cuSeqlensKvOptional)(OptIn, sequsedQOptional)(OptIn, sequsedKvOptional)(
        Int, batchSize)(Int, maxSeqlenQ)(Int, maxSeqlenKv)(Int, numHeadsQ)(Int, numHeadsKv)(Int, headDim)(
        Int, maskMode)(Int, winLeft)(Int, winRight)(Text, layoutQ)(Text, layoutKv)(Text, layoutOut)(OptOut, metaData),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(Compressor,
                          (OptIn, x)(OptIn, wkv)(OptIn, wgate)(OptOut, stateCacheRef)(OptIn, ape)(
                              OptIn, stateBlockTable)(OptIn, cuSeqlens)(OptIn, seqused)(OptIn, startPos)(Int, cmpRatio)(
                              Int, coff)(Int, cacheMode)(Int, stateCacheStrideDim0)(OptIn, cmpKv)(OptIn, stateCache),
                          kMissing)
#undef OPWRIGHT_REFUSED_FUNCTION
