// native/ascendc/shared/tiling_fields.h
// The fields of the tiling structures of the high-level API, in the order in which they lie in memory: one table for
// plain structures (tiling_structs.h) and for the classes of the host (host/tiling). Most fields cut the work for
// the hardware's buffers; the kernels here read only the shapes among them.
#pragma once

#define OPWRIGHT_FIELDS_OF_TCubeTiling(FIELD) \
  FIELD(int32_t, usedCoreNum)                 \
  FIELD(int32_t, M)                           \
  FIELD(int32_t, N)                           \
  FIELD(int32_t, Ka)                          \
  FIELD(int32_t, Kb)                          \
  FIELD(int32_t, singleCoreM)                 \
  FIELD(int32_t, singleCoreN)                 \
  FIELD(int32_t, singleCoreK)                 \
  FIELD(int32_t, baseM)                       \
  FIELD(int32_t, baseN)                       \
  FIELD(int32_t, baseK)                       \
  FIELD(int32_t, depthA1)                     \
  FIELD(int32_t, depthB1)                     \
  FIELD(int32_t, stepM)                       \
  FIELD(int32_t, stepN)                       \
  FIELD(int32_t, isBias)                      \
  FIELD(int32_t, transLength)                 \
  FIELD(int32_t, iterateOrder)                \
  FIELD(int32_t, shareMode)                   \
  FIELD(int32_t, shareL1Size)                 \
  FIELD(int32_t, shareL0CSize)                \
  FIELD(int32_t, shareUbSize)                 \
  FIELD(int32_t, batchM)                      \
  FIELD(int32_t, batchN)                      \
  FIELD(int32_t, singleBatchM)                \
  FIELD(int32_t, singleBatchN)                \
  FIELD(int32_t, stepKa)                      \
  FIELD(int32_t, stepKb)                      \
  FIELD(int32_t, depthAL1CacheUB)             \
  FIELD(int32_t, depthBL1CacheUB)             \
  FIELD(int32_t, dbL0A)                       \
  FIELD(int32_t, dbL0B)                       \
  FIELD(int32_t, dbL0C)                       \
  FIELD(int32_t, ALayoutInfoB)                \
  FIELD(int32_t, ALayoutInfoS)                \
  FIELD(int32_t, ALayoutInfoN)                \
  FIELD(int32_t, ALayoutInfoG)                \
  FIELD(int32_t, ALayoutInfoD)                \
  FIELD(int32_t, BLayoutInfoB)                \
  FIELD(int32_t, BLayoutInfoS)                \
  FIELD(int32_t, BLayoutInfoN)                \
  FIELD(int32_t, BLayoutInfoG)                \
  FIELD(int32_t, BLayoutInfoD)                \
  FIELD(int32_t, CLayoutInfoB)                \
  FIELD(int32_t, CLayoutInfoS1)               \
  FIELD(int32_t, CLayoutInfoN)                \
  FIELD(int32_t, CLayoutInfoG)                \
  FIELD(int32_t, CLayoutInfoS2)               \
  FIELD(int32_t, BatchNum)                    \
  FIELD(int32_t, mxTypePara)

#define OPWRIGHT_FIELDS_OF_SoftMaxTiling(FIELD) \
  FIELD(uint32_t, srcM)                         \
  FIELD(uint32_t, srcK)                         \
  FIELD(uint32_t, srcSize)                      \
  FIELD(uint32_t, outMaxM)                      \
  FIELD(uint32_t, outMaxK)                      \
  FIELD(uint32_t, outMaxSize)                   \
  FIELD(uint32_t, splitM)                       \
  FIELD(uint32_t, splitK)                       \
  FIELD(uint32_t, splitSize)                    \
  FIELD(uint32_t, reduceM)                      \
  FIELD(uint32_t, reduceK)                      \
  FIELD(uint32_t, reduceSize)                   \
  FIELD(uint32_t, rangeM)                       \
  FIELD(uint32_t, tailM)                        \
  FIELD(uint32_t, tailSplitSize)                \
  FIELD(uint32_t, tailReduceSize)

#define OPWRIGHT_FIELDS_OF_LogSoftMaxTiling(FIELD) OPWRIGHT_FIELDS_OF_SoftMaxTiling(FIELD)

// Fields of several normalizations: the shape [B, S, H], and how the work is cut.
#define OPWRIGHT_BSH_FIELDS(FIELD) \
  FIELD(uint32_t, bLength)         \
  FIELD(uint32_t, sLength)         \
  FIELD(uint32_t, hLength)         \
  FIELD(uint32_t, originalHLength)
#define OPWRIGHT_NORM_BUFFER_FIELDS(FIELD) \
  FIELD(uint32_t, inputXSize)              \
  FIELD(uint32_t, meanVarSize)             \
  FIELD(uint32_t, numberOfTmpBuf)          \
  FIELD(uint32_t, meanTmpTensorPos)        \
  FIELD(uint32_t, meanTmpTensorSize)       \
  FIELD(uint32_t, varianceTmpTensorPos)    \
  FIELD(uint32_t, varianceTmpTensorSize)   \
  FIELD(uint32_t, tmpBufSize)              \
  FIELD(uint32_t, oneTmpSize)              \
  FIELD(uint32_t, firstTmpStartPos)        \
  FIELD(uint32_t, secondTmpStartPos)       \
  FIELD(uint32_t, thirdTmpStartPos)        \
  FIELD(uint32_t, loopRound)               \
  FIELD(uint32_t, inputRoundSize)          \
  FIELD(uint32_t, inputTailSize)           \
  FIELD(uint32_t, inputTailPos)            \
  FIELD(uint32_t, meanVarRoundSize)        \
  FIELD(uint32_t, meanVarTailSize)         \
  FIELD(uint32_t, meanVarTailPos)          \
  FIELD(uint32_t, bshCurLength)            \
  FIELD(uint32_t, bsCurLength)

#define OPWRIGHT_FIELDS_OF_LayerNormTiling(FIELD) \
  OPWRIGHT_BSH_FIELDS(FIELD)                      \
  OPWRIGHT_NORM_BUFFER_FIELDS(FIELD)              \
  FIELD(float, lastDimValueBack)

#define OPWRIGHT_FIELDS_OF_LayerNormSeparateTiling(FIELD) \
  FIELD(uint32_t, aLength)                                \
  FIELD(uint32_t, rLength)                                \
  FIELD(uint32_t, halfAddRepeatTimes)                     \
  FIELD(uint32_t, rHeadLength)                            \
  FIELD(float, k2Rec)                                     \
  FIELD(float, k2RRec)                                    \
  FIELD(uint32_t, inputXSize)                             \
  FIELD(uint32_t, meanVarSize)                            \
  FIELD(uint32_t, numberOfTmpBuf)                         \
  FIELD(uint32_t, varianceTmpTensorPos)                   \
  FIELD(uint32_t, varianceTmpTensorSize)                  \
  FIELD(uint32_t, tmpBufSize)                             \
  FIELD(uint32_t, oneTmpSize)                             \
  FIELD(uint32_t, firstTmpStartPos)                       \
  FIELD(uint32_t, secondTmpStartPos)                      \
  FIELD(uint32_t, thirdTmpStartPos)                       \
  FIELD(uint32_t, loopRound)                              \
  FIELD(uint32_t, inputRoundSize)                         \
  FIELD(uint32_t, inputTailSize)                          \
  FIELD(uint32_t, inputTailPos)                           \
  FIELD(uint32_t, meanVarRoundSize)                       \
  FIELD(uint32_t, meanVarTailSize)                        \
  FIELD(uint32_t, meanVarTailPos)                         \
  FIELD(uint32_t, arCurLength)                            \
  FIELD(uint32_t, aCurLength)                             \
  FIELD(float, rValueBack)

#define OPWRIGHT_FIELDS_OF_LayerNormGradTiling(FIELD) \
  FIELD(uint32_t, stackBufferSize)                    \
  OPWRIGHT_BSH_FIELDS(FIELD)                          \
  FIELD(uint32_t, oneCalSize)                         \
  FIELD(uint32_t, nohCalSize)                         \
  FIELD(uint32_t, loopNum)                            \
  FIELD(uint32_t, tailSize)                           \
  FIELD(uint32_t, nohTailSize)                        \
  FIELD(uint32_t, tmpTensorBSHPos)                    \
  FIELD(uint32_t, tmpTensorBSHSize)                   \
  FIELD(uint32_t, pdVarTensorPos)                     \
  FIELD(uint32_t, pdVarTensorSize)                    \
  FIELD(uint32_t, pdMeanTensorPos)                    \
  FIELD(uint32_t, pdMeanTensorSize)                   \
  FIELD(uint32_t, x1TensorPos)                        \
  FIELD(uint32_t, x1TensorSize)                       \
  FIELD(uint32_t, x2TensorPos)                        \
  FIELD(uint32_t, x2TensorSize)                       \
  FIELD(uint32_t, x3TensorPos)                        \
  FIELD(uint32_t, x3TensorSize)                       \
  FIELD(uint32_t, tmpTensorPos)                       \
  FIELD(uint32_t, tmpTensorSize)                      \
  FIELD(uint32_t, tmpTensor1Pos)                      \
  FIELD(uint32_t, tmpTensor1Size)                     \
  FIELD(uint32_t, tmpTensor2Pos)                      \
  FIELD(uint32_t, tmpTensor2Size)                     \
  FIELD(uint32_t, lastDimValueBack)                   \
  FIELD(uint32_t, lastDimValueBackMulTwo)

#define OPWRIGHT_FIELDS_OF_LayerNormGradBetaTiling(FIELD) \
  FIELD(uint32_t, stackBufferSize)                        \
  OPWRIGHT_BSH_FIELDS(FIELD)                              \
  FIELD(uint32_t, bshLength)                              \
  FIELD(uint32_t, bsLength)                               \
  FIELD(uint32_t, oneCalSize)                             \
  FIELD(uint32_t, numberOfTmpBuf)                         \
  FIELD(uint32_t, loopRound)                              \
  FIELD(uint32_t, inputTailSize)                          \
  FIELD(uint32_t, inputTailPos)                           \
  FIELD(uint32_t, bsTailSize)                             \
  FIELD(uint32_t, bshCurLength)                           \
  FIELD(uint32_t, bsCurLength)                            \
  FIELD(uint32_t, gammaTempTensorPos)                     \
  FIELD(uint32_t, betaTempTensorPos)                      \
  FIELD(uint32_t, inputDyTmpTensorPos)                    \
  FIELD(uint32_t, resForGammaTmpTensorPos)                \
  FIELD(uint32_t, reserved)

#define OPWRIGHT_FIELDS_OF_RmsNormTiling(FIELD) \
  OPWRIGHT_BSH_FIELDS(FIELD)                    \
  FIELD(float, reciprocalOfHLength)             \
  FIELD(uint32_t, mainBshLength)                \
  FIELD(uint32_t, mainBsLength)                 \
  FIELD(uint32_t, mainBsLengthAlign)            \
  FIELD(uint32_t, loopRound)                    \
  FIELD(uint32_t, inputTailPos)                 \
  FIELD(uint32_t, tailBshLength)                \
  FIELD(uint32_t, tailBsLength)

#define OPWRIGHT_FIELDS_OF_BatchNormTiling(FIELD) \
  FIELD(uint32_t, originalBLength)                \
  FIELD(uint32_t, meanVarSize)                    \
  FIELD(uint32_t, meanTmpTensorPos)               \
  FIELD(uint32_t, varianceTmpTensorPos)           \
  FIELD(uint32_t, tmpBufSize)                     \
  FIELD(uint32_t, oneTmpSize)                     \
  FIELD(uint32_t, firstTmpStartPos)               \
  FIELD(uint32_t, secondTmpStartPos)              \
  FIELD(uint32_t, thirdTmpStartPos)               \
  FIELD(uint32_t, loopRound)                      \
  FIELD(uint32_t, inputTailSize)                  \
  FIELD(uint32_t, inputTailPos)                   \
  FIELD(uint32_t, meanVarTailSize)                \
  FIELD(uint32_t, meanVarTailPos)                 \
  FIELD(uint32_t, bshCurLength)                   \
  FIELD(uint32_t, shCurLength)                    \
  FIELD(float, firstDimValueBack)                 \
  FIELD(uint32_t, castHalfRepStride)              \
  FIELD(uint32_t, shCurLengthBlockNum)            \
  FIELD(uint32_t, castHalfOutRepStride)

#define OPWRIGHT_FIELDS_OF_GroupNormTiling(FIELD) \
  FIELD(uint32_t, n)                              \
  FIELD(uint32_t, c)                              \
  FIELD(uint32_t, hw)                             \
  FIELD(uint32_t, g)                              \
  FIELD(uint32_t, d)                              \
  FIELD(uint32_t, hwAlignSize)                    \
  FIELD(uint32_t, dhwAlignSize)                   \
  OPWRIGHT_NORM_BUFFER_FIELDS(FIELD)              \
  FIELD(float, factor)                            \
  FIELD(bool, smallShape)

#define OPWRIGHT_FIELDS_OF_DeepNormTiling(FIELD) OPWRIGHT_FIELDS_OF_LayerNormTiling(FIELD)

#define OPWRIGHT_FIELDS_OF_TopkTiling(FIELD) \
  FIELD(int32_t, tmpLocalSize)               \
  FIELD(int32_t, allDataSize)                \
  FIELD(int32_t, innerDataSize)              \
  FIELD(uint32_t, sortRepeat)                \
  FIELD(int32_t, mrgSortRepeat)              \
  FIELD(int32_t, kAlignFourBytes)            \
  FIELD(int32_t, kAlignTwoBytes)             \
  FIELD(int32_t, maskOffset)                 \
  FIELD(int32_t, maskVreducev2FourBytes)     \
  FIELD(int32_t, maskVreducev2TwoBytes)      \
  FIELD(int32_t, mrgSortSrc1offset)          \
  FIELD(int32_t, mrgSortSrc2offset)          \
  FIELD(int32_t, mrgSortSrc3offset)          \
  FIELD(int32_t, mrgSortTwoQueueSrc1Offset)  \
  FIELD(int32_t, mrgFourQueueTailPara1)      \
  FIELD(int32_t, mrgFourQueueTailPara2)      \
  FIELD(int32_t, srcIndexOffset)             \
  FIELD(uint32_t, copyUbToUbBlockCount)      \
  FIELD(int32_t, topkMrgSrc1MaskSizeOffset)  \
  FIELD(int32_t, topkNSmallSrcIndexOffset)   \
  FIELD(uint32_t, vreduceValMask0)           \
  FIELD(uint32_t, vreduceValMask1)           \
  FIELD(uint32_t, vreduceIdxMask0)           \
  FIELD(uint32_t, vreduceIdxMask1)           \
  FIELD(uint16_t, vreducehalfValMask0)       \
  FIELD(uint16_t, vreducehalfValMask1)       \
  FIELD(uint16_t, vreducehalfValMask2)       \
  FIELD(uint16_t, vreducehalfValMask3)       \
  FIELD(uint16_t, vreducehalfValMask4)       \
  FIELD(uint16_t, vreducehalfValMask5)       \
  FIELD(uint16_t, vreducehalfValMask6)       \
  FIELD(uint16_t, vreducehalfValMask7)

#define OPWRIGHT_FIELDS_OF_PadTiling(FIELD) \
  FIELD(uint32_t, srcHeight)                \
  FIELD(uint32_t, srcWidth)                 \
  FIELD(uint32_t, srcOriHeight)             \
  FIELD(uint32_t, srcOriWidth)

#define OPWRIGHT_FIELDS_OF_UnPadTiling(FIELD) \
  FIELD(uint32_t, srcHeight)                  \
  FIELD(uint32_t, srcWidth)

#define OPWRIGHT_FIELDS_OF_ConfusionTransposeTiling(FIELD) \
  FIELD(uint32_t, dims)                                    \
  FIELD(uint32_t, shape0)                                  \
  FIELD(uint32_t, shape1)                                  \
  FIELD(uint32_t, shape2)                                  \
  FIELD(uint32_t, shape3)                                  \
  FIELD(uint32_t, transposeType)                           \
  FIELD(uint32_t, headNumber)

#define OPWRIGHT_TILINGS(TILING)  \
  TILING(TCubeTiling)             \
  TILING(SoftMaxTiling)           \
  TILING(LogSoftMaxTiling)        \
  TILING(LayerNormTiling)         \
  TILING(LayerNormSeparateTiling) \
  TILING(LayerNormGradTiling)     \
  TILING(LayerNormGradBetaTiling) \
  TILING(RmsNormTiling)           \
  TILING(BatchNormTiling)         \
  TILING(GroupNormTiling)         \
  TILING(DeepNormTiling)          \
  TILING(TopkTiling)              \
  TILING(PadTiling)               \
  TILING(UnPadTiling)             \
  TILING(ConfusionTransposeTiling)
