// native/runtime/explore/idle_clock.h
// How long the process has done nothing. A program that computes on the host, or imports a module, is not idle.
#pragma once

#include <chrono>

namespace opwright::explore {

class IdleClock {
 public:
  // Something has happened.
  void reset();
  // How long nothing has happened and no thread has computed. To be called now and then: it compares the processor time
  // between two calls.
  std::chrono::milliseconds look();

 private:
  using Clock = std::chrono::steady_clock;

  void begin_window(Clock::time_point now);

  Clock::time_point idle_since_ = Clock::now();
  Clock::time_point window_begin_ = Clock::now();
  std::chrono::nanoseconds processor_time_{0};  // of the process, when the window began
};

}  // namespace opwright::explore
