// native/opapi/ops/common/max_workspace.h
// The third function of the operators that captured graphs update: how much workspace they need whatever host values
// (sequence lengths) a later update brings. Kernels here need none.
#pragma once

#include "opapi/declare.h"

#define ACLNN_MAX_WORKSPACE(NAME, PARAMS)                                                     \
  extern "C" OPWRIGHT_API aclnnStatus aclnn##NAME##GetMaxWorkspaceSize(                       \
      OPWRIGHT_C_PARAMS(PARAMS), uint64_t* workspaceSize, aclOpExecutor** executor) {         \
    return ::opwright::opapi::prepare_as<opwright_kernels::aclnn##NAME>(                      \
        "aclnn" #NAME "GetMaxWorkspaceSize", workspaceSize, executor, OPWRIGHT_ARGS(PARAMS)); \
  }

namespace opwright::opapi {

template <class Op, class... Args>
aclnnStatus prepare_as(const char* function, uint64_t* workspace_size, aclOpExecutor** executor,
                       const Args&... args) noexcept {
  return ::opwright::prepare(function, Op::kName, workspace_size, executor,
                             [&] { return make_executor<Op>(std::make_index_sequence<sizeof...(Args)>(), args...); });
}

}  // namespace opwright::opapi
