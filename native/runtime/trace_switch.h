// native/runtime/trace_switch.h
// Somebody besides the trace file wants calls and tasks to be reported: the profiler.
#pragma once

#include "runtime/error.h"

namespace opwright::trace {

// While it is on, trace::enabled() holds also without a trace file.
OPWRIGHT_API void listen(bool on) noexcept;

}  // namespace opwright::trace
