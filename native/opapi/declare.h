// native/opapi/declare.h
// ACLNN declares and defines one aclnn function in one line of a table:
//
//   ACLNN(Add, (In, self)(In, other)(Scalar, alpha)(Out, out), at::add_out(out, self, other, alpha))
//
// It exports aclnnAddGetWorkspaceSize and aclnnAdd. Both phases, argument checks, copies, workspace, repeatable
// executors, tracing and error reports come from executor.cpp and from the parameter kinds; the line names the
// parameters (their kinds are in kinds.h, their order and C types are the ABI) and calls ATen.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "nnopbase/executor.h"
#include "nnopbase/validate.h"
#include "opapi/dry_run.h"
#include "opapi/function.h"
#include "opapi/sequence.h"
#include "runtime/call.h"

namespace opwright::opapi {

// The thread's state while an operator runs: no autograd, the caller's number of threads.
class OPWRIGHT_API RunScope {
 public:
  explicit RunScope(int threads);

 private:
  at::AutoDispatchBelowADInplaceOrView below_autograd_;
  c10::NoGradGuard no_grad_;
};

// Phase 1 calls the first before it takes its operands and the second when it has them.
OPWRIGHT_API void begin_operands() noexcept;
OPWRIGHT_API int caller_threads() noexcept;

// Runs `attempt(opening)`; if ATen has no kernel for half precision or unsigned integers, runs it again in wider
// dtypes. Turns ATen's exceptions into Error, except for the request for memory that ends a dry run.
OPWRIGHT_API void run_attempts(Attempt attempt, void* self, Operands operands);

// For bodies that do more than to fill their outputs, before they begin with it: a dry run ends here, and a body that
// lacks a kernel later is not run again in wider dtypes.
OPWRIGHT_API void begin_effects();

}  // namespace opwright::opapi

// A function of any name. DRY_RUN: phase 1 may run the body as well, which has no effect but on its outputs.
#define OPWRIGHT_DEFINE_FUNCTION(FUNCTION, DRY_RUN, PARAMS, ...)                                                     \
  namespace opwright_kernels {                                                                                       \
  struct FUNCTION {                                                                                                  \
    static constexpr const char* kName = #FUNCTION;                                                                  \
    static constexpr const char* kPhase1 = #FUNCTION "GetWorkspaceSize";                                             \
    static constexpr bool kDryRun = DRY_RUN;                                                                         \
    using Kinds = ::opwright::opapi::KindList<OPWRIGHT_KINDS(PARAMS)>;                                               \
    static constexpr auto kParameters =                                                                              \
        ::opwright::opapi::lay_out({OPWRIGHT_FACTS(PARAMS)}, {OPWRIGHT_NAMES(PARAMS)});                              \
    static void run(OPWRIGHT_BODY_PARAMS(PARAMS)) { __VA_ARGS__; }                                                   \
  };                                                                                                                 \
  }                                                                                                                  \
  extern "C" OPWRIGHT_API aclnnStatus FUNCTION##GetWorkspaceSize(OPWRIGHT_C_PARAMS(PARAMS), uint64_t* workspaceSize, \
                                                                 aclOpExecutor** executor) {                         \
    const void* const arguments[] = {OPWRIGHT_ADDRESSES(PARAMS)};                                                    \
    return ::opwright::opapi::prepare(::opwright::opapi::kFunction<opwright_kernels::FUNCTION>,                      \
                                      #FUNCTION "GetWorkspaceSize", workspaceSize, executor, arguments);             \
  }                                                                                                                  \
  extern "C" OPWRIGHT_API aclnnStatus FUNCTION(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,     \
                                               aclrtStream stream) {                                                 \
    return ::opwright::execute(#FUNCTION, workspace, workspaceSize, executor, stream);                               \
  }

// A line of a table whose function has no aclnn prefix.
#define OPWRIGHT_FUNCTION(FUNCTION, PARAMS, ...) OPWRIGHT_DEFINE_FUNCTION(FUNCTION, true, PARAMS, __VA_ARGS__)

#define ACLNN(NAME, PARAMS, ...) OPWRIGHT_FUNCTION(aclnn##NAME, PARAMS, __VA_ARGS__)
