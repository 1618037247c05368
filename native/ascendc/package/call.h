// native/ascendc/package/call.h
// Both phases of an operator package's aclnn functions. The sources that opwright emits are made of it.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "user_kernels/prepare.h"

namespace opwright::ascendc {

enum class Role : int32_t { kInput, kOutput, kAttribute };

// An argument and what of the operator's definition it is for.
struct Bound {
  Role role;
  uint32_t index;
  user_kernels::Argument argument;
};

inline Bound input(uint32_t index, const user_kernels::Argument& argument) { return {Role::kInput, index, argument}; }
inline Bound output(uint32_t index, const user_kernels::Argument& argument) { return {Role::kOutput, index, argument}; }
inline Bound attribute(uint32_t index, const user_kernels::Argument& argument) {
  return {Role::kAttribute, index, argument};
}

// Phase 1: checks and copies the arguments, runs the operator's tiling, finds the kernel. `function` is a literal of
// the package's library, whose folder is found by it.
__attribute__((visibility("default"))) aclnnStatus prepare(const char* function, const char* type,
                                                           std::initializer_list<Bound> arguments,
                                                           uint64_t* workspace_size, aclOpExecutor** executor) noexcept;

// Phase 2.
__attribute__((visibility("default"))) aclnnStatus execute(const char* function, void* workspace,
                                                           uint64_t workspace_size, aclOpExecutor* executor,
                                                           aclrtStream stream) noexcept;

}  // namespace opwright::ascendc
