// native/collective/collectives.cpp
// Collective and point-to-point operations: refused.
#include "collective/refuse.h"

OPWRIGHT_REFUSE_COLLECTIVE(HcclAllGather, (void*, void*, uint64_t, HcclDataType, HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclAllGatherV,
                           (void*, uint64_t, void*, const void*, const void*, HcclDataType, HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclAllReduce, (void*, void*, uint64_t, HcclDataType, HcclReduceOp, HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclAlltoAll, (const void*, uint64_t, HcclDataType, const void*, uint64_t, HcclDataType,
                                          HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclAlltoAllV, (const void*, const void*, const void*, HcclDataType, const void*,
                                           const void*, const void*, HcclDataType, HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclAlltoAllVC,
                           (const void*, const void*, HcclDataType, const void*, HcclDataType, HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclBatchSendRecv, (HcclSendRecvItem*, uint32_t, HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclBroadcast, (void*, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclRecv, (void*, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclReduce,
                           (void*, void*, uint64_t, HcclDataType, HcclReduceOp, uint32_t, HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclReduceScatter,
                           (void*, void*, uint64_t, HcclDataType, HcclReduceOp, HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclReduceScatterV, (void*, const void*, const void*, void*, uint64_t, HcclDataType,
                                                HcclReduceOp, HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclScatter, (void*, void*, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream))
OPWRIGHT_REFUSE_COLLECTIVE(HcclSend, (void*, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream))
