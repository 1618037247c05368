// native/support/super_kernel.cpp
// libascendsk, which fuses the kernels of a captured graph into one binary (super_kernel_optimize of npugraph_ex,
// NPUGraph.super_kernel_optimize, torch.npu.super_kernel_scope_begin). On the twin a launch is a call of a function, so
// nothing is fused; graphs, options and scopes are checked.
//
// Names and layouts: acl/super_kernel.h in torch_npu's wheel.
#include <atomic>
#include <cstdint>
#include <cstdio>

#include "acl/acl_mdl.h"
#include "acl/acl_rt.h"
#include "runtime/call.h"

namespace {

using opwright::arg;
using opwright::call;
using opwright::require;

constexpr uint32_t kOptionTypes = 18;

struct Option {
  uint32_t type;
  uint64_t value[2];  // of each type its own; none changes a result
};
static_assert(sizeof(Option) == 24);

struct Options {
  const Option* options;
  size_t count;
};

void report_that_nothing_is_fused() {
  static std::atomic_flag reported = ATOMIC_FLAG_INIT;
  if (reported.test_and_set()) return;
  std::fputs(
      "opwright: super_kernel_optimize: no kernels are fused. The twin runs the operators of a graph one by one, with "
      "the same results.\n",
      stderr);
}

// A handle is checked by the function that reads its number.
void require_known(aclError code) { require(code == ACL_SUCCESS, code, opwright::recent_message()); }

void check_scope(const char* name, aclrtStream stream) {
  require(name != nullptr, ACL_ERROR_INVALID_PARAM, "parameter 'scopeName' is null");
  int32_t id = 0;
  require_known(aclrtStreamGetId(stream, &id));
}

}  // namespace

extern "C" {

OPWRIGHT_API aclError aclskOptimize(aclmdlRI model, const Options* options) {
  return call(
      "aclskOptimize",
      [&] {
        const size_t count = options == nullptr ? 0 : options->count;
        require(count == 0 || options->options != nullptr, ACL_ERROR_INVALID_PARAM, "parameter 'options' has ", count,
                " options at a null pointer");
        for (size_t i = 0; i < count; ++i) {
          const uint32_t type = options->options[i].type;
          require(type < kOptionTypes, ACL_ERROR_INVALID_PARAM, "option ", i, " has the type ", type,
                  "; allowed: 0 to ", kOptionTypes - 1);
        }
        uint32_t id = 0;
        require_known(aclmdlRIGetId(model, &id));
        report_that_nothing_is_fused();
      },
      arg("model", model));
}

OPWRIGHT_API aclError aclskScopeBegin(const char* scopeName, aclrtStream stream) {
  return call("aclskScopeBegin", [&] { check_scope(scopeName, stream); }, arg("stream", stream));
}

OPWRIGHT_API aclError aclskScopeEnd(const char* scopeName, aclrtStream stream) {
  return call("aclskScopeEnd", [&] { check_scope(scopeName, stream); }, arg("stream", stream));
}
}
