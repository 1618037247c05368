// native/opapi/ops/common/refused.h
// For functions that programs can link to, and that phase 1 refuses.
#pragma once

#include "opapi/opapi.h"

namespace opwright::opapi {

inline constexpr const char* kOfAscend950 = "it is of Ascend950 alone";

[[noreturn]] inline void refuse_function(const char* reason) {
  fail(ACLNN_ERR_PARAM_INVALID, "this function is not available on the twin: ", reason);
}

}  // namespace opwright::opapi
