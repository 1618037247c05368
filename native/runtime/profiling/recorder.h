// native/runtime/profiling/recorder.h
// Events between aclprofStart and aclprofStop: host calls, launches and tasks, one JSON object per line of a
// file. opwright/twin/msprof makes CANN's result files of it.
//
// A launch and its task are tied together by the device, the stream and the task's number on that stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/error.h"

namespace opwright {

class Stream;
class Task;

namespace profiling {

extern OPWRIGHT_API std::atomic<bool> recording_flag;

inline bool recording() noexcept { return recording_flag.load(std::memory_order_relaxed); }

// All times are trace::now(), microseconds.
void note_call(const std::string& name, double begin, double end) noexcept;
void note_launch(const Stream& stream, uint64_t number, const char* name) noexcept;
// `number` 0: nobody has noted the launch, it was now (sync mode).
void note_task(const Stream& stream, uint64_t number, Task& task, double begin, double end) noexcept;
// A task of a captured graph, in a replay.
void note_replayed(int device, int32_t stream, uint64_t graph, Task& task, double begin, double end) noexcept;
// The end of the program's step, or its beginning.
void note_step(int device, int32_t stream, int tag) noexcept;

// A mark of the program, reached by the stream.
OPWRIGHT_API void note_mark(int device, int32_t stream, const std::string& message) noexcept;

}  // namespace profiling
}  // namespace opwright
