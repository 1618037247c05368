// native/runtime/order/order.h
// Whether the program has ordered what its streams do with the same memory (OPWRIGHT_ORDER=1, `opwright run --order`).
//
// The order is that of the program, not the one in which the workers happen to run: a task happens behind those before
// it in its stream, behind the records of the events that the stream waited for, and behind what the host has waited
// for before it launched the task. Each task is compared when it is launched, so a fault is found whether or not it
// shows. The host counts as one actor: what one of its threads has waited for is known to all.
//
// Off, each of these functions costs one load and one branch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error.h"
#include "runtime/order/clock.h"
#include "runtime/streams/task.h"

namespace opwright {
class Stream;
}

namespace opwright::order {

// Throws 100000 for a value of OPWRIGHT_ORDER that is not 0 or 1; so do the others, as the setting is read by the
// first.
OPWRIGHT_API bool enabled();

// To be called when ACL is initialized. Follows the tensors of the process if the order is checked.
void start();

// Before the task is queued. Compares the device memory that it touches with what was launched before.
void note_launch(const Stream& stream, Task& task);

// All that happens before the task that the stream is given next.
Moment moment_of(const Stream& stream);
// An event that is recorded on the stream now.
Record record_on(const Stream& stream);
// The tasks that the stream is given from now on happen behind the record.
void note_wait(const Stream& stream, const Record& record);
// The same for what the host launches on any stream: it has seen that the moment has come.
void note_seen(const Moment& moment);

// Where a task was captured.
struct Captured {
  std::string lines;  // of Python, innermost first
  // Of each of its memory_ranges the tensor that had the memory then, as tensor_at; 0 if none had. Empty if the task
  // was replaced.
  std::vector<uint64_t> tensors;
  uint64_t last_tensor = 0;  // that had memory before the capture
  // Of the task that an update has put in its place. The stream of the update may not have done so yet.
  std::optional<std::vector<MemoryRange>> replaced = std::nullopt;
  std::string capture_lines = {};  // of a task that was replaced, whose other lines are those of the update
};
// Null if nobody checks the order.
std::shared_ptr<const Captured> note_capture(Task& task, uint64_t last_tensor);
// To be called with the operator of an update, when it is called. Null if nobody checks the order.
std::shared_ptr<const Captured> note_replacement(Task& task);
// The task that was captured, after an update has replaced it.
std::shared_ptr<const Captured> replace(const Captured& captured, const Captured& replacement);

// One replay of a captured graph on a stream: its tasks in a possible order of execution. Lanes begin behind what the
// stream was given before, and what it is given next happens behind all of them.
class Replay {
 public:
  Replay(const Stream& stream, size_t lanes, size_t points);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void note_launch(size_t lane, Task& task, const Captured& captured);
  void record(size_t lane, size_t point);
  void wait(size_t lane, size_t point);

 private:
  const int device_;
  const int32_t stream_;
  const std::string lines_;        // of the replay
  std::vector<size_t> timelines_;  // by lane; the first is the stream's own
  std::vector<Moment> points_;
};

class HostCall;

// A function of the host's that a stream calls, once for each launch or replay of its task. A call happens behind what
// the stream was given before; what waits for the task happens behind the function's own accesses.
class HostFunction {
 public:
  using Call = std::shared_ptr<const HostCall>;
  // Calls run in the order in which they were added.
  void add_call(Call call);
  // The next one that runs. Null if nobody checks the order, and in the bodies of conditional tasks.
  Call begin_call();

 private:
  std::mutex mutex_;
  std::deque<Call> calls_;
};

// Around the function, on the thread that calls it.
class RunningFunction {
 public:
  explicit RunningFunction(const HostFunction::Call& call);
  ~RunningFunction();
  RunningFunction(const RunningFunction&) = delete;
  RunningFunction& operator=(const RunningFunction&) = delete;

 private:
  const HostCall* const outer_;
};

// A synchronous call of the host that reads or writes device memory at once.
// Whether a task that the host has not waited for still uses the memory.
bool note_host_access(const char* function, const MemoryRange& range);

// Device memory that is given back, and flags that end.
void forget(const void* begin, size_t bytes);

}  // namespace opwright::order
