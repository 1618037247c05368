// native/opapi/ops/common/max_workspace.h
// The third function of the operators that captured graphs update: how much workspace they need whatever host values
// (sequence lengths) a later update brings. Kernels here need none.
#pragma once

#include "opapi/declare.h"

#define ACLNN_MAX_WORKSPACE(NAME, PARAMS)                                                                       \
  extern "C" OPWRIGHT_API aclnnStatus aclnn##NAME##GetMaxWorkspaceSize(                                         \
      OPWRIGHT_C_PARAMS(PARAMS), uint64_t* workspaceSize, aclOpExecutor** executor) {                           \
    const void* const arguments[] = {OPWRIGHT_ADDRESSES(PARAMS)};                                               \
    return ::opwright::opapi::prepare(::opwright::opapi::kFunction<opwright_kernels::aclnn##NAME>,              \
                                      "aclnn" #NAME "GetMaxWorkspaceSize", workspaceSize, executor, arguments); \
  }
