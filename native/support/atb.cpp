// native/support/atb.cpp
// libatb, the library of ATB's operators (NNAL, which is not part of CANN): refused. torch_npu has a bridge to it that
// only loads when every name is there; without the library its operators ask for a package that nobody could install.
#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "acl/acl_desc.h"
#include "runtime/call.h"

namespace atb {

class Context;
class Operation;

constexpr size_t kMostDimensions = 8;

struct Dims {
  int64_t dims[kMostDimensions];
  uint64_t dimNum;
};

struct TensorDesc {
  aclDataType dtype;
  aclFormat format;
  Dims shape;
};

struct Tensor {
  TensorDesc desc;
  void* deviceData;
  void* hostData;
  uint64_t dataSize;
};

class Utils {
 public:
  OPWRIGHT_API static uint64_t GetTensorSize(const Tensor& tensor);
};

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
constexpr char kNoOperators[] = "operators of ATB do not run on the twin";

// C++ callers get the whole text: what they make of a status says nothing about the cause.
[[noreturn]] void refuse_operator(const char* name, const char* instead) {
  const std::string why = text(kNoOperators, "; instead use ", instead);
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

// The other operators, of the form of aclnn's (AtbMLA, AtbRingMLA), are left out: torch_npu looks for them at the call
// and names what is missing, but it would call them on its consumer thread, where an error ends its queue for the rest
// of the process.

namespace atb {

// Nobody has an operator, so nobody gets here.
OPWRIGHT_MARK_REFUSED(_ZN3atb13CreateContextEPPNS_7ContextE);
OPWRIGHT_API int CreateContext(Context**) { return opwright::refuse("atb::CreateContext", kNoOperators, kFailed); }
OPWRIGHT_MARK_REFUSED(_ZN3atb14DestroyContextEPNS_7ContextE);
OPWRIGHT_API int DestroyContext(Context*) { return opwright::refuse("atb::DestroyContext", kNoOperators, kFailed); }
OPWRIGHT_MARK_REFUSED(_ZN3atb16DestroyOperationEPNS_9OperationE);
OPWRIGHT_API int DestroyOperation(Operation*) {
  return opwright::refuse("atb::DestroyOperation", kNoOperators, kFailed);
}

// torch_npu describes the operands before it makes the operator.
uint64_t Utils::GetTensorSize(const Tensor& tensor) {
  uint64_t elements = 1;
  const uint64_t rank = std::min<uint64_t>(tensor.desc.shape.dimNum, kMostDimensions);
  for (uint64_t i = 0; i < rank; ++i) elements *= static_cast<uint64_t>(tensor.desc.shape.dims[i]);
  return elements * aclDataTypeSize(tensor.desc.dtype);
}

}  // namespace atb
