// native/runtime/streams/task_sink.h
// Takes a stream's tasks over instead of having them run: a capture records them, an update replaces recorded ones.
#pragma once

#include "runtime/streams/task.h"

namespace opwright {

class Stream;

class OPWRIGHT_API TaskSink {
 public:
  TaskSink() = default;
  virtual ~TaskSink() = default;
  TaskSink(const TaskSink&) = delete;
  TaskSink& operator=(const TaskSink&) = delete;

  // Called by Stream::submit. Returns the task, which the stream then runs, if the sink is over. Throws if it cannot be
  // taken.
  virtual TaskPtr take(Stream& stream, TaskPtr task) = 0;

  // A call that should have made a task failed on a thread that cannot return the error (see consumer_thread.h).
  virtual void spoil(const char* function, const Error& error) = 0;

  // Whether it takes nothing any more, although nobody has ended it.
  virtual bool is_over() const noexcept { return false; }
};

}  // namespace opwright
