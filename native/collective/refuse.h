// native/collective/refuse.h
// The form of a collective function that this version does not have.
#pragma once

#include "hccl/hccl.h"
#include "runtime/call.h"

#define OPWRIGHT_REFUSE_COLLECTIVE(NAME, PARAMS)                                                                \
  OPWRIGHT_REFUSE_WITH(HcclResult, NAME, PARAMS, HCCL_E_NOT_SUPPORT,                                            \
                       "this version has no collectives (HCCL); run without torch.distributed, or communicate " \
                       "CPU tensors with its gloo backend")
