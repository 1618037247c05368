// native/user_kernels/python.h
// The Python of this process, if there is one; found at run time, because the twin is not linked to Python.
#pragma once

namespace opwright::user_kernels {

// Has the package opwright, in this process's Python, add its reference functions (those that are declared already and
// those of the files in OPWRIGHT_KERNELS). Does nothing in a process without Python. Throws 561003 with Python's own
// error if that fails; `function` is the operator that is needed.
void connect_python(const char* function);

}  // namespace opwright::user_kernels
