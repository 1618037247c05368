// native/opapi/ops/common/unlimited_window.h
// Operators of sparse attention take the parameters of a window, and no window: both must be unlimited, also as callers
// with integers of 32 bits write it.
#pragma once

#include <limits>

#include "opapi/opapi.h"

namespace opwright::opapi {

inline void require_unlimited(int64_t pre_tokens, int64_t next_tokens) {
  static constexpr int64_t kAll = std::numeric_limits<int64_t>::max(), kMost = std::numeric_limits<int32_t>::max();
  const auto check = [](int64_t tokens, const char* name) {
    require(tokens >= kMost, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is ", tokens, "; it must be ", kAll,
            " (2^63 - 1), or from ", kMost, " on");
  };
  check(pre_tokens, "pre_tokens");
  check(next_tokens, "next_tokens");
}

}  // namespace opwright::opapi
