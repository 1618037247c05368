// native/opapi/dry_run.h
// Phase 1 runs the body of a function on operands without memory, on the caller's thread. What the body refuses before
// it asks for an element follows from dtypes, shapes and attributes; the caller gets the error at the call. A body that
// asks for an element has accepted the rest, and what only values show is left to the task.
//
// Meta tensors would not do: they would dispatch to ATen's Meta functions, which users replace from Python and which
// know nothing of the limits of CPU kernels.
#pragma once

#include <c10/util/Exception.h>

#include "opapi/kinds.h"
#include "opapi/signature.h"

namespace opwright::opapi {

using Attempt = void (*)(void* self, const Opening& opening);

// True if a call with this signature was accepted before and is not forgotten.
OPWRIGHT_API bool is_accepted(const Signature& signature) noexcept;
OPWRIGHT_API void accept(const Signature& signature) noexcept;

// Throws Error for what the body refuses. Answers false where phase 1 must not fail (torch_npu's consumer thread).
OPWRIGHT_API bool dry_run(Attempt attempt, void* self, int threads);

// The same on empty tensors of the same dtypes: throws for a dtype that ATen has no kernel for, which its kernels find
// after they have asked for their operands' memory. Other errors are those of empty tensors and say nothing.
OPWRIGHT_API void require_kernels(Attempt attempt, void* self, int threads);

// Ends a dry run of this thread, if it is in one, as a request for memory does.
OPWRIGHT_API void end_dry_run();
OPWRIGHT_API bool is_dry_run() noexcept;

// For a body that computes in another dtype: in place of an operand without memory, one of that dtype, so that ATen
// checks it as it would check the operand. Undefined if the operand has memory.
OPWRIGHT_API at::Tensor stand_in_of(const at::Tensor& operand, at::ScalarType dtype);

// True for the error that an operand without memory answers with.
OPWRIGHT_API bool is_request_for_memory(const c10::Error& error);

// True if after this error an output that has another shape than the caller's is at fault.
OPWRIGHT_API bool is_fault_of_shapes(const c10::Error& error, Operands operands);

}  // namespace opwright::opapi
