// native/runtime/explore/lane.h
// The streams and the waiting threads of the host, as the scheduler sees them. Its mutex guards all of it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/error.h"
#include "runtime/explore/explore.h"

namespace opwright::explore {

struct Launched {
  uint64_t number;  // in its stream, from 1
  uint64_t order;   // among all launches
  std::string name;
  std::string place;
};

// A stream, as the scheduler sees it.
struct Lane {
  int32_t stream;
  int device;
  uint64_t launched = 0;
  std::deque<Launched> queue;       // tasks that have not begun
  std::optional<Launched> current;  // the task that has begun
  uint64_t begun = 0;               // number of the last task that has begun
  uint64_t part = 0;                // of it
  enum class State { kWorks, kPauses, kWaits, kOutside, kReturns } state = State::kWorks;
  const Wait* wait = nullptr;  // while it waits
  std::string outside;         // while it is outside
  bool chosen = false;         // its worker goes on when it sees this
  std::condition_variable changed;

  std::string name() const {
    return stream < 0 ? text("a stream of a captured graph") : text("stream ", stream, " of device ", device);
  }
};

// A thread of the host that lets tasks run.
struct Host {
  // Without a wait it may go on at any time.
  explicit Host(const Wait* awaited = nullptr, bool ends_by_itself = true)
      : wait(awaited), has_timeout(ends_by_itself) {}

  const Wait* const wait;
  const bool has_timeout;
  std::string place;  // of a thread that waits
  bool holds_python_lock = false;
  bool released = false;
  std::condition_variable changed;
};

using Lanes = std::map<int32_t, std::shared_ptr<Lane>>;  // by stream

}  // namespace opwright::explore
