// native/user_kernels/dispatch.h
// Which functions have a reference function outside C++, and how one is run.
#pragma once

#include <cstdint>

#include "user_kernels/view.h"

namespace opwright::user_kernels {

// Throws 561003 if nothing runs `function`; looks in the files of OPWRIGHT_KERNELS first.
void require_reference(const char* function);

// Runs it in the calling thread. Throws what it reports as 561000.
void dispatch(const char* function, const ArgumentView* arguments, uint64_t count);

}  // namespace opwright::user_kernels
