// native/runtime/streams/task_queue.h
// The tasks that wait on a stream.
#pragma once

#include <utility>

#include "runtime/streams/task.h"

namespace opwright {

// Intrusive singly linked list of owned tasks. Not thread-safe.
class TaskQueue {
 public:
  TaskQueue() = default;
  ~TaskQueue() { clear(); }
  TaskQueue(TaskQueue&& other) noexcept
      : head_(std::exchange(other.head_, nullptr)), tail_(std::exchange(other.tail_, nullptr)) {}
  TaskQueue& operator=(TaskQueue&&) = delete;

  bool empty() const noexcept { return head_ == nullptr; }
  void push(TaskPtr task) noexcept {
    Task* const added = task.release();
    (tail_ == nullptr ? head_ : tail_->next_) = added;
    tail_ = added;
  }
  TaskPtr pop() noexcept {
    Task* const taken = head_;
    head_ = taken->next_;
    if (head_ == nullptr) tail_ = nullptr;
    return TaskPtr(taken);
  }
  void clear() noexcept {
    while (!empty()) pop();
  }

 private:
  Task* head_ = nullptr;
  Task* tail_ = nullptr;
};

}  // namespace opwright
