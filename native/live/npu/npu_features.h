// native/live/npu/npu_features.h
// Functions that the C++ interface of some releases of torch_npu lacks. Each entry asks for the name itself, by
// overload resolution: where torch_npu declares a function, it is better than the one here, which takes any arguments.
#pragma once

#include <acl/acl_rt.h>
#include <op_plugin/utils/op_api_common_base.h>

namespace opwright::live::npu::features {

namespace absent {

struct Any {
  template <class Value>
  Any(const Value&) {}  // NOLINT(google-explicit-constructor): the conversion is what makes the other one better
};

// Releases before the levels of determinism, such as 2.10.0.post4, export nothing for it; what their own operators do
// is one call of ACL.
inline void ApplyDeterministicLevel(Any, bool is_deterministic, Any) {
  aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, is_deterministic ? 1 : 0);
}

}  // namespace absent

// Asks only where there is a function that takes it: releases without one do not export the level either.
struct Level {
  operator int64_t() const {  // NOLINT(google-explicit-constructor)
    return c10_npu::GetDeterministicLevel();
  }
};

// Hands the user's choice of deterministic algorithms to CANN; to be called before phase 1 of an aclnn function.
inline void apply_determinism() {
  using namespace absent;          // NOLINT(google-build-using-namespace)
  using namespace at_npu::native;  // NOLINT(google-build-using-namespace)
  ApplyDeterministicLevel(Level(), at::globalContext().deterministicAlgorithms(), true);
}

}  // namespace opwright::live::npu::features
