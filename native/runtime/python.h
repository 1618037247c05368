// native/runtime/python.h
// The Python of this process, if there is one; found at run time, because the twin is not linked to Python.
#pragma once

#include "runtime/error.h"

namespace opwright {

// Whether this process has a Python that can be called; no more once it has ended.
OPWRIGHT_API bool python_is_running();

// Calls `function(argument)` of a module. False in a process without Python. An exception becomes Error(code, text that
// begins with `what`).
OPWRIGHT_API bool call_python(const char* module, const char* function, const char* argument, int code,
                              const char* what);

}  // namespace opwright
