// native/opapi/ops/attention/prompt_attention.cpp
// The older functions of attention for inference: whole prompts, and single queries behind a cache.
#include <limits>

#include "opapi/ops/attention/inference_attention.h"

namespace {

using opapi::attention::inference::attend;

constexpr int64_t kUnlimited = std::numeric_limits<int32_t>::max();

}  // namespace

#define UNAVAILABLE(NAME) {NAME, #NAME}

ACLNN(PromptFlashAttentionV3,
      (In, query)(In, key)(In, value)(OptIn, pseShift)(OptIn, attenMask)(OptInts, actualSeqLengths)(
          OptInts, actualSeqLengthsKv)(OptIn, deqScale1)(OptIn, quantScale1)(OptIn, deqScale2)(OptIn, quantScale2)(
          OptIn, quantOffset2)(Int, numHeads)(Double, scaleValue)(Int, preTokens)(Int, nextTokens)(Text, inputLayout)(
          Int, numKeyValueHeads)(Int, sparseMode)(Int, innerPrecise)(Out, attentionOut),
      attend({query,
              {key},
              {value},
              pseShift,
              attenMask,
              kNone,
              kNone,
              kNone,
              kNone,
              kNone,
              kNone,
              kNone,
              kNone,
              actualSeqLengths,
              actualSeqLengthsKv,
              std::nullopt},
             {numHeads,
              scaleValue,
              {sparseMode, preTokens, nextTokens},
              inputLayout,
              numKeyValueHeads,
              0,
              false,
              0,
              /*decodes=*/false},
             {UNAVAILABLE(deqScale1), UNAVAILABLE(quantScale1), UNAVAILABLE(deqScale2), UNAVAILABLE(quantScale2),
              UNAVAILABLE(quantOffset2)},
             attentionOut, NoTensor{}))

// The lengths are those of the keys.
ACLNN(IncreFlashAttentionV4,
      (In, query)(TensorList, key)(TensorList, value)(OptIn, pseShift)(OptIn, attenMask)(OptInts, actualSeqLengths)(
          OptIn, dequantScale1)(OptIn, quantScale1)(OptIn, dequantScale2)(OptIn, quantScale2)(OptIn, quantOffset2)(
          OptIn, antiquantScale)(OptIn, antiquantOffset)(OptIn, blocktable)(OptIn, kvPaddingSize)(Int, numHeads)(
          Double, scaleValue)(Text,
                              inputLayout)(Int, numKeyValueHeads)(Int, blockSize)(Int, innerPrecise)(Out, attentionOut),
      attend({query, key, value, pseShift, attenMask, blocktable, kNone, kvPaddingSize, kNone, kNone, kNone, kNone,
              kNone, std::nullopt, actualSeqLengths, std::nullopt},
             {numHeads, scaleValue, {0, kUnlimited, kUnlimited}, inputLayout, numKeyValueHeads, blockSize, false},
             {UNAVAILABLE(dequantScale1), UNAVAILABLE(quantScale1), UNAVAILABLE(dequantScale2),
              UNAVAILABLE(quantScale2), UNAVAILABLE(quantOffset2), UNAVAILABLE(antiquantScale),
              UNAVAILABLE(antiquantOffset)},
             attentionOut, NoTensor{}))

#undef UNAVAILABLE
