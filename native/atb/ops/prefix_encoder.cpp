// native/atb/ops/prefix_encoder.cpp
// AtbSelfAttentionPrefixEncoder: SelfAttention in calcType PREFIX_ENCODER.
#include "atb/named_call.h"
#include "atb/ops/self_attention.h"
#include "atb/pack.h"

using namespace opwright;               // NOLINT: one function
using namespace opwright::atb_library;  // NOLINT: one function

extern "C" {

OPWRIGHT_API atb::Status AtbSelfAttentionPrefixEncoderGetWorkspaceSize(
    const aclTensor* query, const aclTensor* key, const aclTensor* value, const aclTensor* blockTables,
    const aclTensor* mask, const aclTensor* seqLen, const aclTensor* kvSeqLen, const aclTensor* slopes, int maskType,
    int32_t headNum, int32_t kvHeadNum, float qkScale, aclTensor* attnOut, uint64_t* workspaceSize,
    atb::Operation** operation, atb::Context*) {
  const auto prepare = [&](uint64_t* size, aclOpExecutor** executor) {
    atb::infer::SelfAttentionParam param{};
    param.maskType = static_cast<atb::infer::SelfAttentionParam::MaskType>(maskType);
    param.headNum = headNum;
    param.kvHeadNum = kvHeadNum;
    param.qkScale = qkScale;
    param.qScale = 1;
    param.isTriuMask = 1;
    param.calcType = atb::infer::SelfAttentionParam::PREFIX_ENCODER;
    param.kernelType = atb::infer::SelfAttentionParam::KERNELTYPE_HIGH_PRECISION;
    param.outDataType = ACL_DT_UNDEFINED;
    self_attention::check(param);
    const aclIntArray queries = host_numbers(given(seqLen, "seqLen"), "seqLen");
    const aclIntArray keys = host_numbers(given(kvSeqLen, "kvSeqLen"), "kvSeqLen");
    const bool is_masked = self_attention::has_mask(param), has_slopes = self_attention::has_slopes(param);
    return self_attention::prepare(
        param,
        {given(query, "query"), given(key, "key"), given(value, "value"), &given(blockTables, "blockTables"),
         is_masked ? &given(mask, "mask") : nullptr, has_slopes ? &given(slopes, "slopes") : nullptr, queries, &keys,
         given(attnOut, "attnOut")},
        size, executor);
  };
  return set_up_named("AtbSelfAttentionPrefixEncoder", "AtbSelfAttentionPrefixEncoderGetWorkspaceSize", workspaceSize,
                      operation, prepare, __builtin_return_address(0));
}

ATB_NAMED_CALL(AtbSelfAttentionPrefixEncoder)

}  // extern "C"
