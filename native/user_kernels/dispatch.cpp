// native/user_kernels/dispatch.cpp
#include "user_kernels/dispatch.h"

#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "runtime/gil.h"
#include "runtime/python.h"
#include "user_kernels/python.h"

namespace opwright::user_kernels {
namespace {

// By the name of the aclnn function.
class Registry {
 public:
  void add(const char* function, Dispatcher dispatcher) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    dispatchers_[function] = dispatcher;
  }
  Dispatcher find(const char* function) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto it = dispatchers_.find(function);
    return it == dispatchers_.end() ? nullptr : it->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::string, Dispatcher, std::less<>> dispatchers_;
};

Registry& registry() {
  static Registry* const instance = new Registry;  // outlives worker threads that end after static destructors
  return *instance;
}

PythonGate& gate() {
  static PythonGate* const instance = new PythonGate;
  return *instance;
}

}  // namespace

void require_reference(const char* function) {
  if (registry().find(function) != nullptr) return;
  connect_python(function);
  require(registry().find(function) != nullptr, ACLNN_ERR_INNER_KERNEL_NOT_FOUND,
          "the operator has no reference function in this process; declare one with opwright.twin.kernel, or name the "
          "file that does with `opwright run --kernels FILE`");
}

void dispatch(const char* function, const ArgumentView* arguments, uint64_t count) {
  const auto open = gate().pass(ACLNN_ERR_INNER);
  const Dispatcher dispatcher = registry().find(function);  // there since phase 1: dispatchers are never removed
  std::optional<std::string> failure;
  dispatcher(function, arguments, count, &failure);
  if (failure) fail(ACLNN_ERR_INNER, *failure);
}

}  // namespace opwright::user_kernels

using namespace opwright::user_kernels;

void opwright_kernel_add(const char* function, Dispatcher dispatcher) {
  opwright::expect_python_on_workers();
  registry().add(function, dispatcher);
}

void opwright_kernel_fail(void* failure, const char* text) {
  *static_cast<std::optional<std::string>*>(failure) = text;
}

void opwright_kernel_close() { gate().close(); }
