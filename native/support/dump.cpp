// native/support/dump.cpp
// libascend_dump, dumping the arguments of operators: refused.
#include <atomic>
#include <cstdio>

#include "acl/acl_dump.h"
#include "rts/rts.h"
#include "runtime/call.h"

namespace {

constexpr const char* kWhy =
    "operators' arguments cannot be dumped; `opwright run --trace FILE` records every call instead";

// TorchAir dumps arguments to compile static kernels for them (static_kernel_compile). It says that it begins, ignores
// both refusals, and then finds nothing to compile, without a word. So this says all that there is to say, and the code
// of the refusals is one that is not written when nobody asks for the error.
void say_that_nothing_is_compiled() {
  static std::atomic_flag said = ATOMIC_FLAG_INIT;
  if (said.test_and_set()) return;
  std::fputs(
      "opwright: static_kernel_compile: no static kernel is compiled or installed. The twin's kernels serve every "
      "shape, and graphs run with these.\n",
      stderr);
}

}  // namespace

OPWRIGHT_MARK_REFUSED(aclopStartDumpArgs);
extern "C" OPWRIGHT_API aclError aclopStartDumpArgs(uint32_t, const char*) {
  say_that_nothing_is_compiled();
  return static_cast<aclError>(::opwright::refuse("aclopStartDumpArgs", kWhy, ACL_ERROR_RT_FEATURE_NOT_SUPPORT));
}

OPWRIGHT_REFUSE_WITH(aclError, aclopStopDumpArgs, (uint32_t), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, kWhy)
