// native/runtime/gil.h
// Python's global interpreter lock, found at run time: libascendcl is not linked to Python.
#pragma once

#include "runtime/error.h"

namespace opwright {

// Gives the lock up for the lifetime of the object if the calling thread holds it. Every call that can block makes one,
// so that a thread that waits for a stream never starves a Python kernel on that stream.
class OPWRIGHT_API GilRelease {
 public:
  GilRelease() noexcept;
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  void* saved_thread_state_;
};

}  // namespace opwright
