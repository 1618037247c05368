// native/runtime/gil.h
// Python's global interpreter lock, found at run time: libascendcl is not linked to Python.
#pragma once

#include "runtime/error.h"

namespace opwright {

// Workers may run Python from now on: call it before such work is submitted for the first time.
OPWRIGHT_API void expect_python_on_workers() noexcept;

// Whether the calling thread has the lock.
bool holds_python_lock() noexcept;

// Gives the lock up for the lifetime of the object if the calling thread holds it and workers may run Python. Every
// call that can block makes one, so that a thread that waits for a stream never starves a Python kernel on that stream.
// Without such kernels the caller's lock is left alone, as CANN leaves it: torch_npu waits in empty_cache() with the
// lock and with its allocator's, and a thread that got the first one could wait for the other for ever.
class OPWRIGHT_API GilRelease {
 public:
  enum class When { kIfWorkersRunPython, kAlways };
  explicit GilRelease(When when = When::kIfWorkersRunPython) noexcept;
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  void* saved_thread_state_;
};

}  // namespace opwright
