// native/support/atb.cpp
// libatb, the library of ATB's operators (NNAL, which is not part of CANN): refused. torch_npu has a bridge to it that
// only loads when every name is there; without the library its operators ask for a package that nobody could install.
#include <cstdint>
#include <stdexcept>

#include "runtime/call.h"

namespace atb {

class Context;
class Operation;
struct Tensor;

namespace infer {

struct ElewiseParam;
struct GroupTopkParam;
struct LinearParam;
struct PagedAttentionParam;
struct ReshapeAndCacheParam;
struct RmsNormParam;
struct RopeParam;
struct SelfAttentionParam;

}  // namespace infer

template <class Param>
int CreateOperation(const Param&, Operation**);

}  // namespace atb

namespace {

using opwright::text;

constexpr int kFailed = 1;  // of ATB's statuses only 0 means anything to callers

// C++ callers get the whole text: what they make of a status says nothing about the cause.
[[noreturn]] void refuse_operator(const char* name, const char* instead) {
  const std::string why = text("operators of ATB do not run on the twin; instead use ", instead);
  opwright::refuse(name, why.c_str(), kFailed);
  throw std::runtime_error(opwright::take_recent_message());
}

}  // namespace

#define OPWRIGHT_REFUSE_ATB(PARAM, MANGLED, INSTEAD)                                            \
  OPWRIGHT_MARK_REFUSED(_ZN3atb15CreateOperationINS_5infer##MANGLED##EEEiRKT_PPNS_9OperationE); \
  template <>                                                                                   \
  OPWRIGHT_API int atb::CreateOperation(const atb::infer::PARAM&, atb::Operation**) {           \
    refuse_operator("atb::CreateOperation<" #PARAM ">", INSTEAD);                               \
  }

OPWRIGHT_REFUSE_ATB(LinearParam, 11LinearParam, "torch.addmm")
OPWRIGHT_REFUSE_ATB(ElewiseParam, 12ElewiseParam, "torch_npu.npu_quantize")
OPWRIGHT_REFUSE_ATB(RmsNormParam, 12RmsNormParam, "torch_npu.npu_rms_norm and torch_npu.npu_quantize")
OPWRIGHT_REFUSE_ATB(GroupTopkParam, 14GroupTopkParam, "torch_npu.npu_moe_gating_top_k")
OPWRIGHT_REFUSE_ATB(SelfAttentionParam, 18SelfAttentionParam, "torch_npu.npu_fused_infer_attention_score, layout TND")
OPWRIGHT_REFUSE_ATB(PagedAttentionParam, 19PagedAttentionParam,
                    "torch_npu.npu_fused_infer_attention_score with a block_table")
OPWRIGHT_REFUSE_ATB(ReshapeAndCacheParam, 20ReshapeAndCacheParam, "torch_npu.npu_scatter_pa_kv_cache")
OPWRIGHT_REFUSE_ATB(RopeParam, 9RopeParam, "torch_npu.npu_apply_rotary_pos_emb")

#define OPWRIGHT_REFUSE_ATB_FUNCTION(NAME, INSTEAD)                                     \
  OPWRIGHT_REFUSE_WITH(int, NAME##GetWorkspaceSize, (...), kFailed,                     \
                       "operators of ATB do not run on the twin; instead use " INSTEAD) \
  OPWRIGHT_REFUSE_WITH(int, NAME, (...), kFailed, "operators of ATB do not run on the twin; instead use " INSTEAD)

OPWRIGHT_REFUSE_ATB_FUNCTION(AtbFusedAddTopkDiv, "torch_npu.npu_moe_gating_top_k")
OPWRIGHT_REFUSE_ATB_FUNCTION(AtbMLA, "torch_npu.npu_fused_infer_attention_score")
OPWRIGHT_REFUSE_ATB_FUNCTION(AtbMLAPreprocess, "torch_npu.npu_mla_prolog_v3")
OPWRIGHT_REFUSE_ATB_FUNCTION(AtbPagedCacheLoad, "torch_npu.npu_gather_pa_kv_cache")
OPWRIGHT_REFUSE_ATB_FUNCTION(AtbRingMLA, "torch_npu.npu_fused_infer_attention_score")
OPWRIGHT_REFUSE_ATB_FUNCTION(AtbSelfAttentionPrefixEncoder, "torch_npu.npu_fused_infer_attention_score")

// Nobody gets here without an operator.
namespace atb {

OPWRIGHT_MARK_REFUSED(_ZN3atb13CreateContextEPPNS_7ContextE);
OPWRIGHT_API int CreateContext(Context**) {
  return opwright::refuse("atb::CreateContext", "ATB's operators do not run on the twin", kFailed);
}
OPWRIGHT_MARK_REFUSED(_ZN3atb14DestroyContextEPNS_7ContextE);
OPWRIGHT_API int DestroyContext(Context*) {
  return opwright::refuse("atb::DestroyContext", "ATB's operators do not run on the twin", kFailed);
}
OPWRIGHT_MARK_REFUSED(_ZN3atb16DestroyOperationEPNS_9OperationE);
OPWRIGHT_API int DestroyOperation(Operation*) {
  return opwright::refuse("atb::DestroyOperation", "ATB's operators do not run on the twin", kFailed);
}

namespace Utils {

OPWRIGHT_MARK_REFUSED(_ZN3atb5Utils13GetTensorSizeERKNS_6TensorE);
OPWRIGHT_API uint64_t GetTensorSize(const Tensor&) {
  opwright::refuse("atb::Utils::GetTensorSize", "ATB's operators do not run on the twin", kFailed);
  return 0;
}

}  // namespace Utils
}  // namespace atb
