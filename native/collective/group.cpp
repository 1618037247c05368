// native/collective/group.cpp
// libhcomm: groups of calls. Symmetric memory is refused.
#include "collective/operation.h"
#include "collective/refuse.h"

using namespace opwright;

HcclResult HcclGroupStart() {
  return static_cast<HcclResult>(call("HcclGroupStart", [] { collective::begin_group(); }));
}

HcclResult HcclGroupEnd() {
  return static_cast<HcclResult>(call("HcclGroupEnd", [] { collective::end_group(); }));
}

OPWRIGHT_REFUSE_WITH(HcommResult, HcommMemAlloc, (void**, size_t), HCCL_E_NOT_SUPPORT,
                     OPWRIGHT_NO_REMOTE_MEMORY "; allocate with torch.empty(..., device='npu')")
OPWRIGHT_REFUSE_WITH(HcommResult, HcommMemFree, (void*), HCCL_E_NOT_SUPPORT,
                     OPWRIGHT_NO_REMOTE_MEMORY "; allocate with torch.empty(..., device='npu')")
