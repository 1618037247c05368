// tests/native/streams.h
// Streams and events for scenarios, and what holds a stream.
#pragma once

#include <condition_variable>
#include <mutex>

#include "scenario.h"

namespace opwright::test {

inline aclrtStream new_stream() {
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  return stream;
}

inline aclrtEvent new_event(uint32_t flags = ACL_EVENT_SYNC) {
  aclrtEvent event = nullptr;
  OK(aclrtCreateEventExWithFlag(&event, flags));
  return event;
}

// Holds a stream until it is opened.
class Gate {
 public:
  void close_on(aclrtStream stream) {
    OK(aclrtLaunchHostFunc(
        stream,
        [](void* self) {
          Gate& gate = *static_cast<Gate*>(self);
          std::unique_lock<std::mutex> lock(gate.mutex_);
          gate.reached_ = true;
          gate.changed_.notify_all();
          gate.changed_.wait(lock, [&] { return gate.open_; });
        },
        this));
  }
  // Returns when the stream stands at the gate.
  void wait_until_reached() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return reached_; });
  }
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  bool open_ = false;
};

}  // namespace opwright::test
