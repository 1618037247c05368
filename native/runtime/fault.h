// native/runtime/fault.h
// Explains a segmentation fault that the twin's isolation caused.
#pragma once

#include <signal.h>

#include "runtime/error.h"

namespace opwright {

// Installs the handler, in front of what is there: nothing happens if it is the first already. It writes one paragraph
// to standard error (which address, which device, which operator was running) and hands the signal on to whoever was
// there before, so that faulthandler and core dumps still work.
void install_fault_handler() noexcept;

// Asks `intercept` first about faults that are not the twin's own business; if it knows where the thread goes on, it
// does not return. Installs the handler. For kernels in Ascend C, whose faults are errors of the stream.
OPWRIGHT_API void intercept_faults(bool (*intercept)(int, const siginfo_t*, const void*)) noexcept;

}  // namespace opwright
