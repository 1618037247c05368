// native/runtime/gil.cpp
#include "runtime/gil.h"

#include <dlfcn.h>

#include <atomic>

namespace opwright {
namespace {

// CPython's C API, as far as it is needed. All null in a process without Python.
struct GilFunctions {
  int (*is_initialized)() = nullptr;
  int (*thread_holds_lock)() = nullptr;
  void* (*save_thread)() = nullptr;
  void (*restore_thread)(void*) = nullptr;

  GilFunctions() noexcept {
    load(is_initialized, "Py_IsInitialized");
    load(thread_holds_lock, "PyGILState_Check");
    load(save_thread, "PyEval_SaveThread");
    load(restore_thread, "PyEval_RestoreThread");
  }
  bool present() const noexcept {
    return is_initialized != nullptr && thread_holds_lock != nullptr && save_thread != nullptr &&
           restore_thread != nullptr;
  }

 private:
  template <class Function>
  static void load(Function& function, const char* name) noexcept {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

const GilFunctions& python() noexcept {
  static const GilFunctions instance;
  return instance;
}

std::atomic<bool> python_on_workers{false};

}  // namespace

void expect_python_on_workers() noexcept { python_on_workers.store(true); }

bool holds_python_lock() noexcept {
  const GilFunctions& api = python();
  return api.present() && api.is_initialized() != 0 && api.thread_holds_lock() != 0;
}

GilRelease::GilRelease(When when) noexcept : saved_thread_state_(nullptr) {
  if (when == When::kIfWorkersRunPython && !python_on_workers.load()) return;
  if (holds_python_lock()) saved_thread_state_ = python().save_thread();
}

GilRelease::~GilRelease() {
  if (saved_thread_state_ != nullptr) python().restore_thread(saved_thread_state_);
}

}  // namespace opwright
