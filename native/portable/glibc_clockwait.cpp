// native/portable/glibc_clockwait.cpp
// pthread_cond_clockwait, which std::condition_variable::wait_for calls and older releases of glibc lack.
// Linked into each library that needs it, hidden (stubs.py).
#include <dlfcn.h>
#include <pthread.h>

#include <cstdint>
#include <ctime>

namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * kNanoseconds + time.tv_nsec; }

// The same moment by the clock that condition variables wait by.
timespec on_real_time(clockid_t clock, const timespec& moment) {
  timespec now{};
  timespec real{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  const std::int64_t then = nanoseconds(real) + nanoseconds(moment) - nanoseconds(now);
  return then < 0 ? timespec{} : timespec{then / kNanoseconds, then % kNanoseconds};
}

}  // namespace

// The C library's own function waits where there is one: then a change of the system's time moves no deadline.
extern "C" int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* moment) {
  using Wait = decltype(&pthread_cond_clockwait);
  static const auto wait = reinterpret_cast<Wait>(dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"));
  if (wait != nullptr) {
    return wait(condition, mutex, clock, moment);
  }
  const timespec deadline = clock == CLOCK_REALTIME ? *moment : on_real_time(clock, *moment);
  return pthread_cond_timedwait(condition, mutex, &deadline);
}
