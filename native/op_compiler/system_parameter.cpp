// native/op_compiler/system_parameter.cpp
// System parameters (determinism and the like): one number per option for the process, and one per option and context.
// torch_npu reads the deterministic option before every operator, so a read takes no lock.
#include <array>
#include <atomic>
#include <map>
#include <mutex>

#include "acl/acl_op_compiler.h"
#include "acl/acl_sys_param.h"
#include "runtime/call.h"
#include "runtime/device.h"

using namespace opwright;

namespace {

constexpr size_t kSystemOptions = ACL_OPT_STRONG_CONSISTENCY + 1;
using Values = std::array<std::atomic<int64_t>, kSystemOptions>;

Values& process_values() {
  static Values values{};
  return values;
}

// The values of the calling thread's context; a device has one context.
Values& context_values() {
  struct Table {
    std::mutex mutex;
    std::map<int, Values> by_device;  // a map: entries stay where they are
  };
  static Table* const table = new Table();
  const int device = current_device().id();
  const std::lock_guard<std::mutex> lock(table->mutex);
  return table->by_device[device];
}

size_t index_of(aclSysParamOpt opt) {
  const auto index = static_cast<size_t>(opt);
  require(index < kSystemOptions, ACL_ERROR_RT_PARAM_INVALID, "system parameter ", static_cast<int>(opt),
          " is not known; allowed are 0 (deterministic), 1 (debug kernel) and 2 (strong consistency)");
  return index;
}

}  // namespace

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return call(
      "aclrtSetSysParamOpt", [&] { process_values()[index_of(opt)].store(value); }, arg("opt", opt),
      arg("value", value));
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return call(
      "aclrtGetSysParamOpt", [&] { out(value, "value") = process_values()[index_of(opt)].load(); }, arg("opt", opt));
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return call(
      "aclrtCtxSetSysParamOpt", [&] { context_values()[index_of(opt)].store(value); }, arg("opt", opt),
      arg("value", value));
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return call(
      "aclrtCtxGetSysParamOpt", [&] { out(value, "value") = context_values()[index_of(opt)].load(); }, arg("opt", opt));
}
