// native/support/dump.cpp
// libascend_dump, dumping the arguments of kernels, from which static kernels are compiled.
#include <atomic>
#include <cstdio>

#include "acl/acl_dump.h"
#include "runtime/call.h"
#include "runtime/trace.h"

namespace {

using opwright::arg;
using opwright::call;
using opwright::require;

void require_kernel_arguments(uint32_t type) {
  require(type == ACL_OP_DUMP_OP_AICORE_ARGS, ACL_ERROR_FEATURE_UNSUPPORTED, "dumpType is ", type, "; only ",
          ACL_OP_DUMP_OP_AICORE_ARGS, " (arguments of AI Core kernels) is known");
}

// TorchAir compiles static kernels from what is dumped (static_kernel_compile, _aclnn_static_shape_kernel). It says
// that it begins, finds nothing to compile, and goes on without a word.
void report_that_nothing_is_compiled() {
  static std::atomic_flag reported = ATOMIC_FLAG_INIT;
  if (reported.test_and_set()) return;
  std::fputs(
      "opwright: static_kernel_compile: no static kernel is compiled or installed. The twin's kernels serve every "
      "shape, and graphs run with these.\n",
      stderr);
}

}  // namespace

// No operator of the twin has an AI Core kernel, so there are no arguments of one to write.
aclError aclopStartDumpArgs(uint32_t type, const char* path) {
  return call(
      "aclopStartDumpArgs",
      [&] {
        require_kernel_arguments(type);
        require(path != nullptr, ACL_ERROR_INVALID_PARAM, "path is null");
        report_that_nothing_is_compiled();
      },
      arg("dumpType", type), arg("path", path));
}

aclError aclopStopDumpArgs(uint32_t type) {
  return call("aclopStopDumpArgs", [&] { require_kernel_arguments(type); }, arg("dumpType", type));
}
