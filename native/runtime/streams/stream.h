// native/runtime/streams/stream.h
// A stream: a first-in first-out queue of tasks with one worker thread, started by the first task.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/streams/task.h"
#include "runtime/streams/task_queue.h"
#include "runtime/streams/task_sink.h"

namespace opwright {

// The first error of an asynchronous task, kept until a synchronizing call reports it. Streams that wait for the failed
// one get it as well, since what they were to use is not there; it is reported once all the same.
struct Failure {
  int code;
  std::string text;  // starts with the task's name
  std::shared_ptr<std::atomic<bool>> reported = std::make_shared<std::atomic<bool>>(false);
};

// Thrown by a task that waits for another stream: that stream's failure becomes the failure of this one.
struct Inherited {
  Failure failure;
};

enum class FailureMode { kContinue, kStop };

class OPWRIGHT_API Stream {
 public:
  using Timeout = std::optional<std::chrono::milliseconds>;  // nullopt: wait for ever

  Stream(int device, int32_t id, uint32_t priority);
  ~Stream();  // drops tasks that have not started, waits for the running one
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int device() const noexcept { return device_; }
  int32_t id() const noexcept { return id_; }
  uint32_t priority() const noexcept { return priority_; }

  // Enqueues; in sync mode runs the task before returning; while the stream is diverted hands it to the sink.
  void submit(TaskPtr task);

  // From now on `sink` gets what is submitted. False, and nothing happens, if there is one that is not over.
  bool divert(std::shared_ptr<TaskSink> sink);
  void end_diversion();
  // Who gets what is submitted, or nullptr.
  std::shared_ptr<TaskSink> sink() const;
  // The same, also if it is over.
  std::shared_ptr<TaskSink> diversion() const;

  // True when every task submitted so far has finished.
  uint64_t submitted() const noexcept { return submitted_.load(); }
  bool idle() const noexcept { return completed_.load() == submitted_.load(); }
  // Waits for the tasks submitted so far; false when the timeout passed first. Gives the GIL up.
  bool wait(Timeout timeout);
  // The pending failure, which is thereby reported.
  std::optional<Failure> take_failure();
  bool failed() const noexcept { return failed_.load(); }
  // The pending failure, which stays. Nothing if it has been reported, be it through another stream.
  std::optional<Failure> failure() const;

  // Drops tasks that have not started; the running one finishes.
  void abort_pending();

  void set_failure_mode(FailureMode mode) noexcept { failure_mode_.store(mode); }
  // Microseconds that the worker has spent in tasks.
  double busy_microseconds() const noexcept { return busy_.load(std::memory_order_relaxed); }

  // Upper bound on cores of one kind; 0 means that the device's limit holds. Stored and reported only.
  void set_limit(size_t kind, uint32_t value) { limits_.at(kind).store(value); }
  uint32_t limit(size_t kind) const { return limits_.at(kind).load(); }
  void set_overflow_switch(uint32_t value) noexcept { overflow_switch_.store(value); }
  uint32_t overflow_switch() const noexcept { return overflow_switch_.load(); }
  void set_flags(uint32_t value) noexcept { flags_.store(value); }
  uint32_t flags() const noexcept { return flags_.load(); }

  // The task that the calling thread executes, or nullptr. For fault messages.
  static const Task* current_task() noexcept;
  // Makes `task` the calling thread's current task; returns the one before. For tasks that consist of tasks.
  static const Task* exchange_current_task(const Task* task) noexcept;
  // Makes `stream` the one that the calling thread runs a task for; returns the one before. For tasks that other
  // threads take part in: all of them refuse to wait for that stream.
  static const Stream* exchange_running_on(const Stream* stream) noexcept;
  // Whether the stream that the calling thread runs a task for has been aborted since the task began. The running task
  // of an aborted stream finishes, but it must not wait for others any more.
  static bool is_current_task_aborted() noexcept;
  // The stream whose worker the calling thread is, or nullptr.
  static Stream* current() noexcept;

 private:
  void work();
  void end_worker();
  void execute(Task& task) noexcept;
  // Whether tasks that compute are dropped. A failure that another stream has reported meanwhile ends here: its user
  // knows of it, and what is dropped from now on would be missed without a word.
  bool drops_tasks() noexcept;
  // Notes why the running task failed, unless its stream has been aborted.
  void note_failure(Failure failure) noexcept;
  void finish_one() noexcept;

  const int device_;
  const int32_t id_;
  const uint32_t priority_;
  const bool sync_;

  mutable std::mutex mutex_;  // queue_, asleep_, stopping_, failure_, worker_
  std::condition_variable arrived_;
  std::condition_variable finished_;
  TaskQueue queue_;
  bool asleep_ = false;
  bool stopping_ = false;
  std::optional<Failure> failure_;
  std::thread worker_;

  // Tasks are numbered from 1. Written by one side each, read by the other without the mutex.
  std::atomic<uint64_t> submitted_{0};
  std::atomic<uint64_t> completed_{0};
  std::atomic<uint64_t> aborted_{0};  // tasks up to this number are dropped if they have not started
  std::atomic<int> waiters_{0};
  std::atomic<bool> failed_{false};

  std::atomic<bool> diverted_{false};  // spares undiverted streams the mutex
  mutable std::mutex sink_mutex_;
  std::shared_ptr<TaskSink> sink_;

  std::mutex inline_mutex_;  // sync mode: one task at a time
  std::atomic<FailureMode> failure_mode_{FailureMode::kStop};
  std::array<std::atomic<uint32_t>, 2> limits_{};
  std::atomic<uint32_t> overflow_switch_{0};
  std::atomic<uint32_t> flags_{0};
  std::atomic<double> busy_{0};
};

}  // namespace opwright
