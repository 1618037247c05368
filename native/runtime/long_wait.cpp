// native/runtime/long_wait.cpp
#include "runtime/long_wait.h"

#include <unistd.h>

#include "runtime/error.h"
#include "runtime/settings.h"

namespace opwright {

void require_wait_can_end(const std::string& what) {
  require(!settings().sync, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, what,
          " has not happened, and in sync mode nothing can make it happen while this waits; update and record before "
          "the replay, or leave sync mode");
}

void tell_of_long_wait(const std::string& what) {
  const std::string line = text("opwright: a stream has been waiting for ", kLongWait.count(), " s: ", what,
                                " has not happened; a captured graph waits until its update has recorded the event\n");
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace opwright
