// native/runtime/streams/task.h
// A unit of work on a stream.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/error.h"

namespace opwright {

namespace order {
class HostFunction;
struct FlagUse;
}  // namespace order

// Memory that a task reads or writes.
struct MemoryRange {
  const void* address;
  size_t bytes;
  bool read;
  bool written;
  const char* what;  // the parameter

  // A view with gaps touches runs of this many bytes, `count` times `step` bytes apart; with several repeats, the runs
  // of one are repeated by the one before it. Without repeats all bytes are touched.
  struct Repeat {
    size_t count;
    size_t step;
    bool operator==(const Repeat& other) const noexcept { return count == other.count && step == other.step; }
  };
  size_t run = 0;
  std::vector<Repeat> repeats = {};
};

class OPWRIGHT_API Task {
 public:
  Task() = default;
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // Runs on the stream's worker. May throw; the error is reported by the next call that synchronizes.
  virtual void run() = 0;

  // The operator or call that made the task; read by error reports, the trace and the fault handler.
  virtual const char* name() const noexcept = 0;

  // Inside of a JSON object for the trace.
  virtual std::string trace_args() const { return std::string(); }

  // The memory it touches; empty for tasks that touch no memory of a caller.
  virtual std::vector<MemoryRange> memory_ranges() { return {}; }

  // The function of the host's that it calls, if it does.
  virtual order::HostFunction* host_function() noexcept { return nullptr; }

  // Its use of a flag that orders streams, if it has one; the flag's memory is no operand of the program's.
  virtual const order::FlagUse* flag_use() const noexcept { return nullptr; }

  // Why the task cannot be part of a captured graph, or nullptr.
  virtual const char* capture_obstacle() const noexcept { return nullptr; }

  // Called once for a task of a captured graph: it will run many times, with the same arguments, never twice at once.
  virtual void expect_replays() {}

  // Bookkeeping (event records, waits, callbacks) runs even after a task failed; work is skipped then.
  virtual bool is_bookkeeping() const noexcept { return false; }

 private:
  friend class TaskQueue;
  Task* next_ = nullptr;  // intrusive: an enqueued task costs no further allocation
};

using TaskPtr = std::unique_ptr<Task>;

// A task from a callable, for everything that is not on the operator path.
template <class Body>
class FunctionTask final : public Task {
 public:
  FunctionTask(const char* name, Body body, bool bookkeeping, std::vector<MemoryRange> ranges)
      : name_(name), body_(std::move(body)), bookkeeping_(bookkeeping), ranges_(std::move(ranges)) {}
  void run() override { body_(); }
  const char* name() const noexcept override { return name_; }
  bool is_bookkeeping() const noexcept override { return bookkeeping_; }
  std::vector<MemoryRange> memory_ranges() override { return ranges_; }

 private:
  const char* name_;  // a string literal
  Body body_;
  bool bookkeeping_;
  std::vector<MemoryRange> ranges_;
};

template <class Body>
TaskPtr make_task(const char* name, Body body) {
  return std::make_unique<FunctionTask<Body>>(name, std::move(body), false, std::vector<MemoryRange>());
}

template <class Body>
TaskPtr make_bookkeeping(const char* name, Body body, std::vector<MemoryRange> ranges = {}) {
  return std::make_unique<FunctionTask<Body>>(name, std::move(body), true, std::move(ranges));
}

}  // namespace opwright
