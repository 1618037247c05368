// native/atb/function.h
// ATB_FUNCTION declares what an operation of ATB computes, as a line of a table of libopapi does (opapi/declare.h): the
// kinds and names of its operands, and a body in ATen's terms. `operations::NAME::prepare` makes the executor of a
// call.
#pragma once

#include "atb/operation.h"
#include "atb/pack.h"
#include "opapi/opapi.h"

#define ATB_FUNCTION(NAME, PARAMS, ...)                                                                        \
  namespace operations {                                                                                       \
  struct NAME {                                                                                                \
    static constexpr const char* kName = #NAME;                                                                \
    static constexpr const char* kPhase1 = #NAME "::Setup";                                                    \
    static constexpr bool kDryRun = true;                                                                      \
    using Kinds = ::opwright::opapi::KindList<OPWRIGHT_KINDS(PARAMS)>;                                         \
    static constexpr auto kParameters =                                                                        \
        ::opwright::opapi::lay_out({OPWRIGHT_FACTS(PARAMS)}, {OPWRIGHT_NAMES(PARAMS)});                        \
    static void run(OPWRIGHT_BODY_PARAMS(PARAMS)) { __VA_ARGS__; }                                             \
    static aclnnStatus prepare(OPWRIGHT_C_PARAMS(PARAMS), uint64_t* workspaceSize, aclOpExecutor** executor) { \
      const void* const arguments[] = {OPWRIGHT_ADDRESSES(PARAMS)};                                            \
      return ::opwright::opapi::prepare(::opwright::opapi::kFunction<NAME>, kPhase1, workspaceSize, executor,  \
                                        arguments);                                                            \
    }                                                                                                          \
  };                                                                                                           \
  }
