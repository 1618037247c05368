#include "runtime/explore/idle_clock.h"

#include <ctime>

namespace opwright::explore {
namespace {

constexpr std::chrono::milliseconds kWindow(200);
constexpr int kIdleShare = 5;  // idle: less than a fifth of a processor is used

std::chrono::nanoseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

void IdleClock::begin_window(Clock::time_point now) {
  window_begin_ = now;
  processor_time_ = processor_time();
}

void IdleClock::reset() {
  idle_since_ = Clock::now();
  begin_window(idle_since_);
}

std::chrono::milliseconds IdleClock::look() {
  const auto now = Clock::now();
  if (now - window_begin_ >= kWindow) {
    if ((processor_time() - processor_time_) * kIdleShare > now - window_begin_) idle_since_ = now;
    begin_window(now);
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - idle_since_);
}

}  // namespace opwright::explore
