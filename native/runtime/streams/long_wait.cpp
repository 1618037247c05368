// native/runtime/streams/long_wait.cpp
#include "runtime/streams/long_wait.h"

#include <unistd.h>

#include "runtime/error.h"
#include "runtime/explore/explore.h"
#include "runtime/settings.h"
#include "runtime/streams/stream.h"

namespace opwright {
namespace {

// Nobody notifies a waiting worker that its stream was aborted.
constexpr std::chrono::milliseconds kAbortInterval(20);

}  // namespace

void require_wait_can_end(const std::string& what) {
  require(!settings().sync, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, what,
          " has not happened, and in sync mode nothing can make it happen while this waits; update and record before "
          "the replay, or leave sync mode");
}

void report_long_wait(const std::string& what) {
  const std::string line = text("opwright: a stream has been waiting for ", kLongWait.count(), " s: ", what,
                                " has not happened; a captured graph waits until its update has recorded the event\n");
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

void require_not_aborted(const std::string& what) {
  require(!Stream::is_current_task_aborted(), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, what,
          " had not happened when the stream that waits for it was aborted");
}

void wait_unless_aborted(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, const std::string& what,
                         int32_t on, const std::function<bool()>& done) {
  if (explore::enabled()) return explore::wait_unlocked(lock, {what, on, done});
  while (!changed.wait_for(lock, kAbortInterval, done)) require_not_aborted(what);
}

void wait_long(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, const std::string& what,
               const std::function<bool()>& done) {
  if (explore::enabled()) return explore::wait_unlocked(lock, {what, explore::kAnyStream, done});
  const auto begin = std::chrono::steady_clock::now();
  bool reported = false;
  while (!changed.wait_for(lock, kAbortInterval, done)) {
    require_not_aborted(what);
    if (reported || std::chrono::steady_clock::now() - begin < kLongWait) continue;
    report_long_wait(what);
    reported = true;
  }
}

}  // namespace opwright
