// native/opapi/ops/common/refused.cpp
// Functions that programs can link to, and that phase 1 refuses: nothing public says what they compute, or they are of
// another chip.
#include "opapi/ops/common/refused.h"

namespace {

constexpr const char* kCodes = "the form of its compressed numbers is not documented";
constexpr const char* kResult = "the codes of its result are not documented";
constexpr const char* kSparse = "the order of its indices is not documented";
constexpr const char* kExperimental = "it is experimental";
constexpr const char* kWorkers = "workers of attention and of experts would have to reach each other's memory";
constexpr const char* kService = "it asks a service of the device for its codes";
constexpr const char* kElastic = "ranks of the twin's groups that are gone are errors, never left out";
constexpr const char* kReliability = "it belongs to a library for faults of devices, which the twin does not have";

}  // namespace

#define OPWRIGHT_REFUSED_FUNCTION(NAME, PARAMS, REASON) \
  OPWRIGHT_MARK_REFUSED(aclnn##NAME);                   \
  ACLNN(NAME, PARAMS, refuse_function(REASON))

OPWRIGHT_REFUSED_FUNCTION(
    HansEncode,
    (In, inputTensor)(Ref, pdfRef)(Bool, statistic)(Bool, reshuff)(Out, mantissaOut)(Out, fixedOut)(Out, varOut),
    kCodes)
OPWRIGHT_REFUSED_FUNCTION(HansDecode, (In, mantissa)(In, fixed)(In, var)(In, pdf)(Bool, reshuff)(Out, out), kCodes)
OPWRIGHT_REFUSED_FUNCTION(MatmulCompress, (In, x)(In, weight)(OptIn, bias)(In, compressIndex)(Out, out), kCodes)
OPWRIGHT_REFUSED_FUNCTION(MatmulCompressDequant,
                          (In, x1)(In, x2)(In, compressIndex)(OptIn, bias)(In, deqScale)(OptIn, offsetW)(
                              Int32, offsetX)(OptInts, compressInfo)(Out, out),
                          kCodes)
OPWRIGHT_REFUSED_FUNCTION(SilentCheck,
                          (In, val)(Ref, inputGradRef)(Ref, sfdaRef)(Ref, stepRef)(Int32, cMinSteps)(Float, cThreshL1)(
                              Float, cCoeffL1)(Float, cThreshL2)(Float, cCoeffL2)(Int32, npuAsdDetect)(Out, result),
                          kResult)
OPWRIGHT_REFUSED_FUNCTION(
    SilentCheckV2,
    (In, val)(In, max)(Ref, avgRef)(Ref, inputGradRef)(Ref, stepRef)(OptInts, dstSize)(OptInts, dstStride)(
        OptInts, dstOffset)(Float, cThreshL1)(Float, cThreshL2)(Float, beta1)(Int32, npuAsdDetect)(Out, result),
    kResult)
OPWRIGHT_REFUSED_FUNCTION(
    Sparse4to2QuantMatmulWeightNz,
    (In, x)(In, sparseWeight)(In, index)(In, xScale)(In, sparseWeightScale)(OptIn, biasOptional)(Out, out), kSparse)

OPWRIGHT_REFUSED_FUNCTION(
    AlltoAllvQuantGroupedMatMul,
    (In, gmmX)(In, gmmWeight)(In, gmmXScale)(In, gmmWeightScale)(OptIn, sendCountsTensorOptional)(
        OptIn, recvCountsTensorOptional)(OptIn, mmXOptional)(OptIn, mmWeightOptional)(OptIn, mmXScaleOptional)(
        OptIn,
        mmWeightScaleOptional)(Int, gmmXQuantMode)(Int, gmmWeightQuantMode)(Int, mmXQuantMode)(Int, mmWeightQuantMode)(
        Text, group)(Int, epWorldSize)(Ints, sendCounts)(Ints, recvCounts)(Bool, transGmmWeight)(Bool, transMmWeight)(
        Int, groupSize)(Bool, permuteOutFlag)(Out, gmmY)(OptOut, mmYOptional)(OptOut, permuteOutOptional),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    AlltoAllvQuantGroupedMatMulV2,
    (In, gmmX)(In, gmmWeight)(In, gmmXScale)(In, gmmWeightScale)(OptIn, sendCountsTensorOptional)(
        OptIn, recvCountsTensorOptional)(OptIn, mmXOptional)(OptIn, mmWeightOptional)(OptIn, mmXScaleOptional)(
        OptIn,
        mmWeightScaleOptional)(Int, gmmXQuantMode)(Int, gmmWeightQuantMode)(Int, mmXQuantMode)(Int, mmWeightQuantMode)(
        Text, group)(Text, commMode)(Int, epWorldSize)(Ints, sendCounts)(Ints, recvCounts)(Bool, transGmmWeight)(
        Bool, transMmWeight)(Int, groupSize)(Bool, permuteOutFlag)(Out, gmmY)(OptOut, mmYOptional)(OptOut,
                                                                                                   permuteOutOptional),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    QuantGroupedMatMulAlltoAllv,
    (In, gmmX)(In, gmmWeight)(In, gmmXScale)(In, gmmWeightScale)(OptIn, sendCountsTensorOptional)(
        OptIn, recvCountsTensorOptional)(OptIn, mmXOptional)(OptIn, mmWeightOptional)(OptIn, mmXScaleOptional)(
        OptIn, mmWeightScaleOptional)(OptIn, commQuantScaleOptional)(Int, gmmXQuantMode)(Int, gmmWeightQuantMode)(
        Int, mmXQuantMode)(Int, mmWeightQuantMode)(Int, commQuantMode)(Int, commQuantDtypeOptional)(Int, groupSize)(
        Text, group)(Int, epWorldSize)(Ints, sendCounts)(Ints, recvCounts)(Bool, transGmmWeight)(Bool, transMmWeight)(
        Out, y)(OptOut, mmYOptional),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    QuantGroupedMatMulAlltoAllvV2,
    (In, gmmX)(In, gmmWeight)(In, gmmXScale)(In, gmmWeightScale)(OptIn, sendCountsTensorOptional)(
        OptIn, recvCountsTensorOptional)(OptIn, mmXOptional)(OptIn, mmWeightOptional)(OptIn, mmXScaleOptional)(
        OptIn, mmWeightScaleOptional)(OptIn, commQuantScaleOptional)(Int, gmmXQuantMode)(Int, gmmWeightQuantMode)(
        Int, mmXQuantMode)(Int, mmWeightQuantMode)(Int, commQuantMode)(Int, commQuantDtypeOptional)(Int, groupSize)(
        Text, group)(Text, commMode)(Int, epWorldSize)(Ints, sendCounts)(Ints, recvCounts)(Bool, transGmmWeight)(
        Bool, transMmWeight)(Out, y)(OptOut, mmYOptional),
    kOfAscend950)

OPWRIGHT_REFUSED_FUNCTION(DeformableConv2dBackward,
                          (OptIn, input)(OptIn, gradOutput)(OptIn, offsetOut)(OptIn, weight)(OptIn, offset)(OptInts,
                                                                                                            kernelSize)(
                              OptInts, stride)(OptInts, padding)(OptInts, dilation)(Int, groups)(Int, deformableGroups)(
                              Bool, modulated)(OptOut, gradInput)(OptOut, gradWeight)(OptOut, gradOffset)(OptOut,
                                                                                                          gradBias),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(WeightQuantPreprocess,
                          (OptIn, weight)(OptIn, weightScale)(OptIn, weightOffsetOptional)(OptIn, biasOptional)(
                              Dtype, xDtype)(Dtype, xScaleDtype)(Int, kGroupSize)(OptOut, outWeight)(
                              OptOut, outWeightScale)(OptOut, outWeightOffsetOptional)(OptOut, outBiasOptional),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(QuantMatmulActivationQuantWeightNz,
                          (OptIn, x1)(OptIn, x2)(OptIn, x1ScaleOptional)(OptIn, x2Scale)(OptIn, biasOptional)(
                              Bool, transposeX1)(Bool, transposeX2)(Int, groupSize)(Text, activationType)(Text,
                                                                                                          quantMode)(
                              Text, roundMode)(Int, scaleAlg)(Double, dstTypeMax)(OptOut, yOut)(OptOut, yScaleOut),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(GroupedDynamicMxQuantWithDualAxis,
                          (OptIn, x)(OptIn, groupIndex)(Text, roundModeOptional)(Int, scaleAlg)(Int, dstDtype)(
                              Double, maxDtypeValue)(OptOut, y1Out)(OptOut, y1ScaleOut)(OptOut, y2Out)(OptOut,
                                                                                                       y2ScaleOut),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(MxToBlockMxQuant,
                          (OptIn, x)(OptIn, mxscale)(Int, dstType)(OptOut, y)(OptOut, scale1)(OptOut, scale2),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(SituMxQuant,
                          (OptIn, x)(Float, beta)(Float, linearBeta)(Bool, activateLeft)(Int, axis)(Int, dstType)(
                              Text, roundModeOptional)(OptOut, yOut)(OptOut, yScaleOut),
                          kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    CIoU, (OptIn, bBoxes)(OptIn, gtBoxes)(Bool, trans)(Bool, isCross)(Text, mode)(OptOut, overlap)(OptOut, atanSub),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    QuantFlashAttentionScore,
    (OptIn, query)(OptIn, key)(OptIn, value)(OptIn, attenMaskOptional)(OptIn, dScaleQ)(OptIn, dScaleK)(OptIn, dScaleV)(
        OptIn, pScale)(Double, scaleValue)(Int, preTokens)(Int, nextTokens)(Int, headNum)(Text, inputLayout)(
        Int, sparseMode)(OptOut, softmaxMaxOut)(OptOut, softmaxSumOut)(OptOut, softmaxOutout)(OptOut, attentionOutOut),
    kOfAscend950)
OPWRIGHT_REFUSED_FUNCTION(
    QuantFlashAttentionScoreGrad,
    (OptIn, query)(OptIn, keyIn)(OptIn, value)(OptIn, dy)(OptIn, attenMaskOptional)(OptIn, softmaxMax)(
        OptIn, softmaxSum)(OptIn, attentionIn)(OptIn, dScaleQ)(OptIn, dScaleK)(OptIn, dScaleV)(OptIn, dScaleDy)(
        OptIn, dsScale)(OptIn, pScale)(Double, scaleValue)(Int, preTokens)(Int, nextTokens)(Int, headNum)(
        Text, inputLayout)(Int, sparseMode)(Int, outDtype)(OptOut, dqOut)(OptOut, dkOut)(OptOut, dvOut),
    kExperimental)
OPWRIGHT_REFUSED_FUNCTION(
    AttentionToFFN,
    (OptIn, x)(OptIn, sessionId)(OptIn, microBatchId)(OptIn, layerId)(OptIn, expertIds)(OptIn, expertRankTable)(OptIn,
                                                                                                                scales)(
        OptIn, activeMask)(Text, group)(Int, worldSize)(OptInts, ffnTokenInfoTableShape)(OptInts, ffnTokenDataShape)(
        OptInts, attnTokenInfoTableShape)(Int, moeExpertNum)(Int, quantMode)(Int, syncFlag)(Int, ffnStartRankId),
    kWorkers)
OPWRIGHT_REFUSED_FUNCTION(
    FFNToAttention,
    (OptIn, x)(OptIn, sessionIds)(OptIn, microBatchIds)(OptIn, tokenIds)(OptIn, expertOffsets)(OptIn, actualTokenNum)(
        OptIn, attnRankTable)(Text, group)(Int, worldSize)(OptInts, tokenInfoTableShape)(OptInts, tokenDataShape),
    kWorkers)
OPWRIGHT_REFUSED_FUNCTION(AttentionWorkerCombine,
                          (OptIn, scheduleContext)(OptIn, expertScales)(OptIn, layerId)(Int, hiddenSize)(
                              Int, tokenDtype)(Int, needSchedule)(OptOut, y)(OptOut, nextLayerId),
                          kWorkers)
OPWRIGHT_REFUSED_FUNCTION(FfnWorkerBatching,
                          (OptIn, scheduleContext)(Int, expertNum)(OptInts, maxOutShape)(Int, tokenDtype)(Int,
                                                                                                          needSchedule)(
                              Int, layerNum)(OptOut, y)(OptOut, groupList)(OptOut, sessionIds)(OptOut, microBatchIds)(
                              OptOut, tokenIds)(OptOut, expertOffsets)(OptOut, dynamicScale)(OptOut, actualTokenNum),
                          kWorkers)
OPWRIGHT_REFUSED_FUNCTION(InplaceAttentionWorkerScheduler, (Ref, scheduleContextRef), kWorkers)
OPWRIGHT_REFUSED_FUNCTION(InplaceFfnWorkerScheduler,
                          (Ref, scheduleContextRef)(Int32, syncGroupSize)(Int32, executeMode), kWorkers)
OPWRIGHT_REFUSED_FUNCTION(ObfuscationSetupV2,
                          (Int32, fdToClose)(Int32, dataType)(Int32, hiddenSize)(Int32, tpRank)(Int32, modelObfSeedId)(
                              Int32, dataObfSeedId)(Int32, cmd)(Int32, threadNum)(Float, obfCoefficient)(OptOut, fd),
                          kService)
OPWRIGHT_REFUSED_FUNCTION(ObfuscationCalculateV2,
                          (Int32, fd)(OptIn, x)(Int32, param)(Int32, cmd)(Float, obfCoefficient)(OptOut, y), kService)
OPWRIGHT_REFUSED_FUNCTION(MatmulAbftVerify,
                          (OptIn, a)(OptIn, b)(OptIn, c)(OptIn, checksumWeight)(Double, eMax)(OptOut, compRow),
                          kReliability)

OPWRIGHT_REFUSED_FUNCTION(ElasticReceivableInfoCollect, (Text, group)(Int, worldSize)(Out, y), kElastic)
OPWRIGHT_REFUSED_FUNCTION(ElasticReceivableTest, (In, dstRank)(Text, group)(Int, worldSize)(Int, rankNum), kElastic)
OPWRIGHT_REFUSED_FUNCTION(MoeDistributeBufferReset,
                          (In, elasticInfo)(Text, groupEp)(Int32, epWorldSize)(Int32, needSync), kElastic)

#undef OPWRIGHT_REFUSED_FUNCTION

// Called once, without two phases.
OPWRIGHT_REFUSE_WITH(aclnnStatus, aclnnTransSparse4to2Para,
                     (const int8_t*, aclIntArray*, int8_t**, int64_t**, uint64_t*, uint8_t**, int64_t**, uint64_t*),
                     ACLNN_ERR_PARAM_INVALID, kSparse)
