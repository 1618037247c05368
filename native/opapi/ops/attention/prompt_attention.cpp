// native/opapi/ops/attention/prompt_attention.cpp
// The older functions of attention for inference: whole prompts, and single queries behind a cache.
#include <limits>

#include "opapi/ops/attention/inference_attention.h"

namespace {

using opapi::attention::inference::attend;

constexpr int64_t kUnlimited = std::numeric_limits<int32_t>::max();

}  // namespace

#define UNAVAILABLE(NAME) {NAME, #NAME}

// ---- prompts

#define PROMPT_IN (In, query)(In, key)(In, value)(OptIn, pseShift)(OptIn, attenMask)(OptInts, actualSeqLengths)
#define PROMPT_SCALES_IN                                                                                     \
  (OptInts, actualSeqLengthsKv)(OptIn, deqScale1)(OptIn, quantScale1)(OptIn, deqScale2)(OptIn, quantScale2)( \
      OptIn, quantOffset2)
#define PROMPT_OPTIONS \
  (Int, numHeads)(Double, scaleValue)(Int, preTokens)(Int, nextTokens)(Text, inputLayout)(Int, numKeyValueHeads)
#define PROMPT_UNAVAILABLE                                                                            \
  UNAVAILABLE(deqScale1), UNAVAILABLE(quantScale1), UNAVAILABLE(deqScale2), UNAVAILABLE(quantScale2), \
      UNAVAILABLE(quantOffset2)
#define ATTEND_TO_PROMPT(POSITIONS, KEY_LENGTHS, SPARSE_MODE, ...) \
  attend({query,                                                   \
          {key},                                                   \
          {value},                                                 \
          POSITIONS,                                               \
          attenMask,                                               \
          kNone,                                                   \
          kNone,                                                   \
          kNone,                                                   \
          kNone,                                                   \
          kNone,                                                   \
          kNone,                                                   \
          kNone,                                                   \
          kNone,                                                   \
          actualSeqLengths,                                        \
          KEY_LENGTHS,                                             \
          std::nullopt},                                           \
         {numHeads,                                                \
          scaleValue,                                              \
          {SPARSE_MODE, preTokens, nextTokens},                    \
          inputLayout,                                             \
          numKeyValueHeads,                                        \
          0,                                                       \
          false,                                                   \
          0,                                                       \
          /*decodes=*/false},                                      \
         {__VA_ARGS__}, attentionOut, NoTensor{})

// The keys have the length of their tensor.
ACLNN(PromptFlashAttention, PROMPT_IN PROMPT_OPTIONS(Out, attentionOut), refuse({{pseShift, "pseShift"}});
      ATTEND_TO_PROMPT(kNone, std::nullopt, 0))
ACLNN(PromptFlashAttentionV2, PROMPT_IN PROMPT_SCALES_IN PROMPT_OPTIONS(Int, sparseMode)(Out, attentionOut),
      ATTEND_TO_PROMPT(pseShift, actualSeqLengthsKv, sparseMode, PROMPT_UNAVAILABLE))
ACLNN(PromptFlashAttentionV3,
      PROMPT_IN PROMPT_SCALES_IN PROMPT_OPTIONS(Int, sparseMode)(Int, innerPrecise)(Out, attentionOut),
      ATTEND_TO_PROMPT(pseShift, actualSeqLengthsKv, sparseMode, PROMPT_UNAVAILABLE))

// ---- single queries; the lengths are those of the keys

#define QUERY_IN \
  (In, query)(TensorList, key)(TensorList, value)(OptIn, pseShift)(OptIn, attenMask)(OptInts, actualSeqLengths)
#define QUERY_SCALES_IN \
  (OptIn, dequantScale1)(OptIn, quantScale1)(OptIn, dequantScale2)(OptIn, quantScale2)(OptIn, quantOffset2)
#define QUERY_PAGES_IN (OptIn, antiquantScale)(OptIn, antiquantOffset)(OptIn, blocktable)
#define QUERY_OPTIONS (Int, numHeads)(Double, scaleValue)(Text, inputLayout)(Int, numKeyValueHeads)
#define QUERY_PAGES_OUT (Int, blockSize)(Int, innerPrecise)(Out, attentionOut)
#define QUERY_UNAVAILABLE                                                                                     \
  UNAVAILABLE(dequantScale1), UNAVAILABLE(quantScale1), UNAVAILABLE(dequantScale2), UNAVAILABLE(quantScale2), \
      UNAVAILABLE(quantOffset2)
#define QUERY_PAGES_UNAVAILABLE QUERY_UNAVAILABLE, UNAVAILABLE(antiquantScale), UNAVAILABLE(antiquantOffset)
#define ATTEND_TO_CACHE(BLOCK_TABLE, PADDING, BLOCK_SIZE, ...)                                                    \
  attend({query, key, value, pseShift, attenMask, BLOCK_TABLE, kNone, PADDING, kNone, kNone, kNone, kNone, kNone, \
          std::nullopt, actualSeqLengths, std::nullopt},                                                          \
         {numHeads, scaleValue, {0, kUnlimited, kUnlimited}, inputLayout, numKeyValueHeads, BLOCK_SIZE, false},   \
         {__VA_ARGS__}, attentionOut, NoTensor{})

ACLNN(IncreFlashAttention, QUERY_IN QUERY_OPTIONS(Out, attentionOut), ATTEND_TO_CACHE(kNone, kNone, 0))
ACLNN(IncreFlashAttentionV2, QUERY_IN QUERY_SCALES_IN QUERY_OPTIONS(Out, attentionOut),
      ATTEND_TO_CACHE(kNone, kNone, 0, QUERY_UNAVAILABLE))
ACLNN(IncreFlashAttentionV3, QUERY_IN QUERY_SCALES_IN QUERY_PAGES_IN QUERY_OPTIONS QUERY_PAGES_OUT,
      ATTEND_TO_CACHE(blocktable, kNone, blockSize, QUERY_PAGES_UNAVAILABLE))
ACLNN(IncreFlashAttentionV4,
      QUERY_IN QUERY_SCALES_IN QUERY_PAGES_IN(OptIn, kvPaddingSize) QUERY_OPTIONS QUERY_PAGES_OUT,
      ATTEND_TO_CACHE(blocktable, kvPaddingSize, blockSize, QUERY_PAGES_UNAVAILABLE))

#undef UNAVAILABLE
#undef PROMPT_IN
#undef PROMPT_SCALES_IN
#undef PROMPT_OPTIONS
#undef PROMPT_UNAVAILABLE
#undef ATTEND_TO_PROMPT
#undef QUERY_IN
#undef QUERY_SCALES_IN
#undef QUERY_PAGES_IN
#undef QUERY_OPTIONS
#undef QUERY_PAGES_OUT
#undef QUERY_UNAVAILABLE
#undef QUERY_PAGES_UNAVAILABLE
#undef ATTEND_TO_CACHE
