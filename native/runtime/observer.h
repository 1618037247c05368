// native/runtime/observer.h
// Learns of calls, launches and tasks while they happen: the profiler, between aclprofStart and aclprofStop.
//
// A launch and its task are tied together by the device, the stream and the task's number on that stream. All times are
// trace::now(), microseconds. No function throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/error.h"

namespace opwright {

class Stream;
class Task;

class Observer {
 public:
  Observer() = default;
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  virtual void note_call(const std::string& name, double begin, double end) noexcept = 0;
  virtual void note_launch(const Stream& stream, uint64_t number, const char* name) noexcept = 0;
  // `number` 0: nobody has noted the launch, it was now (sync mode).
  virtual void note_task(const Stream& stream, uint64_t number, Task& task, double begin, double end) noexcept = 0;
  // A task of a captured graph, in a replay.
  virtual void note_replayed(int device, int32_t stream, uint64_t graph, Task& task, double begin,
                             double end) noexcept = 0;
};

extern OPWRIGHT_API std::atomic<Observer*> current_observer;

// The observer, or nullptr. One lives as long as the process.
inline Observer* observer() noexcept { return current_observer.load(std::memory_order_acquire); }

}  // namespace opwright
