// native/collective/refuse.h
// The form of a collective function that the twin does not have.
#pragma once

#include "hccl/hccl.h"
#include "runtime/call.h"

#define OPWRIGHT_NO_REMOTE_MEMORY \
  "a rank cannot reach the memory of another rank, which is another process; use send, recv and the collectives"

#define OPWRIGHT_REFUSE_COLLECTIVE(NAME, PARAMS, WHY) \
  OPWRIGHT_REFUSE_WITH(HcclResult, NAME, PARAMS, HCCL_E_NOT_SUPPORT, WHY)
