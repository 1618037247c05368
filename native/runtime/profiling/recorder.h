// native/runtime/profiling/recorder.h
// Events between aclprofStart and aclprofStop: host calls, launches and tasks, one JSON object per line of a
// file. opwright/twin/msprof makes CANN's result files of it.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/error.h"

namespace opwright::profiling {

bool recording() noexcept;
// From now on calls and tasks are recorded.
void start_recording() noexcept;
void stop_recording() noexcept;

// The end of the program's step, or its beginning.
void note_step(int device, int32_t stream, int tag) noexcept;

// A mark of the program, reached by the stream.
OPWRIGHT_API void note_mark(int device, int32_t stream, const std::string& message) noexcept;

}  // namespace opwright::profiling
