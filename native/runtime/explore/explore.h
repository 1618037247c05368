// native/runtime/explore/explore.h
// Runs the tasks of streams in an order that is chosen (OPWRIGHT_EXPLORE=SEED, `opwright run --order=explore`).
//
// One task runs at a time, in any order that the program's edges allow: the order of each stream, events, and what the
// host waits for. The choice is made when the host launches a task, waits or asks whether something is complete, so it
// is a function of the seed and of the calls of the program. A task that waits for another one, or for somebody outside
// of the process, lets others run meanwhile.
//
// Off, each of these functions costs one load and one branch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/streams/stream.h"

namespace opwright::explore {

// Throws 100000 for a value of OPWRIGHT_EXPLORE that is not a whole number; so do the others, as the first of them
// reads it.
OPWRIGHT_API bool enabled();

// The number of a stream (Stream::id) for a wait that any stream may end.
constexpr int32_t kAnyStream = INT32_MIN;

struct Wait {
  std::string what;             // completes "waits for …"
  int32_t on;                   // the stream that has to run, or kAnyStream
  std::function<bool()> done;   // called on any thread, under the scheduler's mutex
  bool ends_with_abort = true;  // of the stream whose task waits
};

// Lines of Python of the calling thread; empty when off. Taken before locks, because it may wait for Python's lock.
std::string launch_place();
// A task is in the queue of the stream. The caller holds what orders the launches of the stream.
void note_launch(const Stream& stream, const Task& task, const std::string& place);
// After a launch, without locks: tasks may run before the host goes on. Not for bookkeeping, which torch_npu's
// allocator submits under its mutex.
void pause_launcher();
// Tasks that have not begun are dropped.
void note_abort(const Stream& stream);
void forget(const Stream& stream);

// The time in which a worker deals with one task.
class Turn {
 public:
  // Waits until it is the task's turn, or until `dropped` holds.
  Turn(const Stream& stream, const std::function<bool()>& dropped);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const bool taken_;
};

// Between two parts of a task: others may run here.
void pause_task();

// The wait of a task or of the host. False when the timeout passed first. A task's wait throws 507047 if its stream has
// been aborted.
OPWRIGHT_API bool wait(const Wait& wait, Stream::Timeout timeout = std::nullopt);
// The same for a `done` that `lock` guards; the lock is given up meanwhile.
void wait_unlocked(std::unique_lock<std::mutex>& lock, Wait wait);

// The host asks whether something is complete. A loop that asks makes progress.
void note_query(const Wait& wait);

// A part of a task that depends on other processes: tasks of other streams run meanwhile.
class OPWRIGHT_API Outside {
 public:
  explicit Outside(const std::function<std::string()>& what);
  ~Outside();
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  const bool entered_;
};

}  // namespace opwright::explore
