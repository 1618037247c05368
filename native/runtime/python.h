// native/runtime/python.h
// The Python of this process, if there is one; found at run time, because the twin is not linked to Python.
#pragma once

#include "runtime/error.h"

namespace opwright {

// Whether this process had a Python that cannot be called any more.
OPWRIGHT_API bool python_has_ended();

// Calls `function(argument)` of a module. False in a process without Python. An exception becomes Error(code, text that
// begins with `what`).
OPWRIGHT_API bool call_python(const char* module, const char* function, const char* argument, int code,
                              const char* what);

}  // namespace opwright
