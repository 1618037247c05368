// native/collective/communicator.cpp
// Communicators: refused.
#include "collective/refuse.h"

OPWRIGHT_REFUSE_COLLECTIVE(HcclCommActivateCommMemory, (HcclComm, void*, size_t, size_t, aclrtDrvMemHandle, uint64_t))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommDeactivateCommMemory, (HcclComm, void*))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommDeregister, (HcclComm, void*))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommDestroy, (HcclComm))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommExchangeMem, (HcclComm, void*, uint32_t*, uint32_t))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommInitAll, (uint32_t, int32_t*, HcclComm*))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommInitClusterInfoConfig, (const char*, uint32_t, HcclCommConfig*, HcclComm*))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommInitRootInfo, (uint32_t, const HcclRootInfo*, uint32_t, HcclComm*))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommInitRootInfoConfig,
                           (uint32_t, const HcclRootInfo*, uint32_t, const HcclCommConfig*, HcclComm*))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommInitRootInfoScalable, (uint32_t, uint32_t, const HcclRootInfo*, uint32_t, uint32_t,
                                                          const HcclCommConfig*, HcclComm*))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommRegister, (HcclComm, void*, uint64_t, void**, uint32_t))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommResume, (HcclComm))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommSetMemoryRange, (HcclComm, void*, size_t, size_t, uint64_t))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommSymWinDeregister, (CommSymWindow))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommSymWinRegister, (HcclComm, void*, uint64_t, CommSymWindow*, uint32_t))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommUnsetMemoryRange, (HcclComm, void*))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommWorkingDevNicSet, (HcclComm, uint32_t*, bool*, uint32_t))
OPWRIGHT_REFUSE_COLLECTIVE(HcclCreateSubCommConfig,
                           (HcclComm*, uint32_t, uint32_t*, uint64_t, uint32_t, HcclCommConfig*, HcclComm*))
OPWRIGHT_REFUSE_COLLECTIVE(HcclGetCommAsyncError, (HcclComm, HcclResult*))
OPWRIGHT_REFUSE_COLLECTIVE(HcclGetCommName, (HcclComm, char*))
OPWRIGHT_REFUSE_COLLECTIVE(HcclGetRootInfo, (HcclRootInfo*))
OPWRIGHT_REFUSE_COLLECTIVE(HcclGetRootInfoScalable, (HcclRootInfo*))
