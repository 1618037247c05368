// native/collective/group.cpp
// libhcomm, groups of collective calls and symmetric memory: refused.
#include "collective/refuse.h"

OPWRIGHT_REFUSE_COLLECTIVE(HcclGroupEnd, (void))
OPWRIGHT_REFUSE_COLLECTIVE(HcclGroupStart, (void))
OPWRIGHT_REFUSE_WITH(HcommResult, HcommMemAlloc, (void**, size_t), HCCL_E_NOT_SUPPORT,
                     "this version has no symmetric memory between ranks; allocate with torch.empty(..., device='npu')")
OPWRIGHT_REFUSE_WITH(HcommResult, HcommMemFree, (void*), HCCL_E_NOT_SUPPORT,
                     "this version has no symmetric memory between ranks; allocate with torch.empty(..., device='npu')")
