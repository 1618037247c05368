// native/atb/named_call.h
// ATB's functions that torch_npu looks up by name. The first, ...GetWorkspaceSize, makes and sets up an operation; the
// second runs it. torch_npu keeps the operation for the next call with the same operands. `caller` is where the
// function returns to.
#pragma once

#include "atb/operation.h"

namespace opwright::atb_library {

atb::Status set_up_named(const char* name, const char* function, uint64_t* workspace_size, atb::Operation** operation,
                         const Prepare& prepare, const void* caller);
atb::Status launch_named(const char* name, void* workspace, uint64_t workspace_size, atb::Operation* operation,
                         atb::Context* context, const void* caller);

// Throws 14 for an operand that is null.
template <class Operand>
Operand& given(Operand* operand, const char* name) {
  require(operand != nullptr, atb::ERROR_INVALID_TENSOR_ADDR, "parameter '", name, "' is null, but it is required");
  return *operand;
}

}  // namespace opwright::atb_library

#define ATB_NAMED_CALL(NAME)                                                                          \
  OPWRIGHT_API atb::Status NAME(void* workspace, uint64_t workspaceSize, atb::Operation* operation,   \
                                atb::Context* context) {                                              \
    return ::opwright::atb_library::launch_named(#NAME, workspace, workspaceSize, operation, context, \
                                                 __builtin_return_address(0));                        \
  }
