// native/op_compiler/compile_option.cpp
// Compile options: one text per option for the whole process. Nothing is compiled, but callers read their settings
// back, and ACL_OP_JIT_COMPILE decides whether torch_npu calls aclnn functions ("disable") or the legacy path
// ("enable").
#include <array>
#include <cstring>
#include <mutex>
#include <string>

#include "acl/acl_op_compiler.h"
#include "runtime/call.h"
#include "runtime/soc.h"

using namespace opwright;

namespace {

constexpr size_t kCompileOptions = ACL_OP_DEBUG_OPTION + 1;

struct Options {
  std::mutex mutex;
  std::array<std::string, kCompileOptions> values;  // empty: not set
};

Options& options() {
  static Options* const instance = [] {
    auto* const created = new Options();  // read until the process ends
    created->values[ACL_OP_JIT_COMPILE] = soc().aclnn_default ? "disable" : "enable";
    return created;
  }();
  return *instance;
}

// CANN answers 500000 for an option that its version does not know, and torch_npu relies on that code.
size_t index_of(aclCompileOpt opt) {
  const auto index = static_cast<size_t>(opt);
  require(index < kCompileOptions, ACL_ERROR_INTERNAL_ERROR, "compile option ", static_cast<int>(opt),
          " is not known; options are 0 to ", kCompileOptions - 1);
  return index;
}

std::string value_of(aclCompileOpt opt) {
  const size_t index = index_of(opt);
  const std::lock_guard<std::mutex> lock(options().mutex);
  return options().values[index];
}

}  // namespace

aclError aclSetCompileopt(aclCompileOpt opt, const char* value) {
  return call(
      "aclSetCompileopt",
      [&] {
        const size_t index = index_of(opt);
        const std::string text = &out(value, "value", ACL_ERROR_INVALID_PARAM);
        require(opt != ACL_OP_JIT_COMPILE || text == "enable" || text == "disable", ACL_ERROR_INVALID_PARAM,
                "option ACL_OP_JIT_COMPILE is '", text, "'; allowed are 'enable' and 'disable'");
        const std::lock_guard<std::mutex> lock(options().mutex);
        options().values[index] = text;
      },
      arg("opt", opt), arg("value", value));
}

// With the terminating zero, so an option that was not set has size 1.
size_t aclGetCompileoptSize(aclCompileOpt opt) {
  size_t size = 0;
  call("aclGetCompileoptSize", [&] { size = value_of(opt).size() + 1; }, arg("opt", opt));
  return size;
}

aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length) {
  return call(
      "aclGetCompileopt",
      [&] {
        const std::string text = value_of(opt);
        require(length > text.size(), ACL_ERROR_INVALID_PARAM, "parameter 'length' is ", length, "; option ",
                static_cast<int>(opt), " needs ", text.size() + 1, " (see aclGetCompileoptSize)");
        std::memcpy(&out(value, "value", ACL_ERROR_INVALID_PARAM), text.c_str(), text.size() + 1);
      },
      arg("opt", opt), arg("length", length));
}
