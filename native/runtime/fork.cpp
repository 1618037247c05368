// native/runtime/fork.cpp
#include "runtime/fork.h"

#include <pthread.h>

#include <atomic>

namespace opwright {
namespace {

std::atomic<bool> forked_child{false};

// From the first call on; a child of a process that has only loaded the libraries may use the devices.
bool watch() {
  return pthread_atfork(nullptr, nullptr, [] { forked_child.store(true); }) == 0;
}

}  // namespace

void require_not_forked() {
  static const bool watching = watch();
  (void)watching;
  require(!forked_child.load(std::memory_order_relaxed), ACL_ERROR_RT_CONTEXT_NULL,
          "a forked child cannot use the NPU; start the process with the 'spawn' method");
}

}  // namespace opwright
