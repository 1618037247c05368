// native/runtime/python.h
// The Python of this process, if there is one; found at run time, because the twin is not linked to Python.
#pragma once

#include <shared_mutex>

#include "runtime/error.h"

namespace opwright {

// Whether this process had a Python that cannot be called any more.
OPWRIGHT_API bool python_has_ended();

// Calls `function(argument)` of a module. False in a process without Python. An exception becomes Error(code, text that
// begins with `what`).
OPWRIGHT_API bool call_python(const char* module, const char* function, const char* argument, int code,
                              const char* what);

// Stands between tasks that call Python and its end, which waits for them.
class OPWRIGHT_API PythonGate {
 public:
  // Python does not end while the lock is held. After its end: an Error(code), or a lock that holds nothing.
  std::shared_lock<std::shared_mutex> pass(int code);
  std::shared_lock<std::shared_mutex> try_pass();
  // Waits for all streams; from then on nothing passes. Called when Python ends.
  void close();

 private:
  std::shared_mutex mutex_;
  bool closed_ = false;
};

}  // namespace opwright
