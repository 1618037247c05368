// native/runtime/order/clock.h
// Vector clocks. A timeline is a stream, or a lane of the graphs that are replayed on a stream. Its clock has, for each
// timeline, how many of its launches happen before what is launched next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace opwright::order {

class Clock {
 public:
  uint64_t of(size_t timeline) const noexcept { return timeline < counts_.size() ? counts_[timeline] : 0; }
  void set(size_t timeline, uint64_t count) {
    if (timeline >= counts_.size()) counts_.resize(timeline + 1);
    counts_[timeline] = count;
  }
  void join(const Clock& other) {
    if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
    for (size_t i = 0; i < other.counts_.size(); ++i) {
      if (other.counts_[i] > counts_[i]) counts_[i] = other.counts_[i];
    }
  }

 private:
  std::vector<uint64_t> counts_;  // by timeline
};

// All that happens before a point of a stream: an event's record, for example. Null if nobody checks the order.
using Moment = std::shared_ptr<const Clock>;

// An event's record on a stream.
struct Record {
  Moment moment;
  int32_t stream = -1;
  std::string lines;  // of Python, innermost first
};

// One launch; none has the number 0.
struct Position {
  size_t timeline = 0;
  uint64_t number = 0;

  bool is_before(const Clock& clock) const noexcept { return number != 0 && number <= clock.of(timeline); }
};

}  // namespace opwright::order
