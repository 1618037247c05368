// native/runtime/order/clock.h
// Vector clocks. A stream's clock has, for each stream, how many of its launches happen before what is launched next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace opwright::order {

class Clock {
 public:
  uint64_t of(int32_t stream) const noexcept {
    const auto at = static_cast<size_t>(stream);
    return at < counts_.size() ? counts_[at] : 0;
  }
  void set(int32_t stream, uint64_t count) {
    const auto at = static_cast<size_t>(stream);
    if (at >= counts_.size()) counts_.resize(at + 1);
    counts_[at] = count;
  }
  void join(const Clock& other) {
    if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
    for (size_t i = 0; i < other.counts_.size(); ++i) {
      if (other.counts_[i] > counts_[i]) counts_[i] = other.counts_[i];
    }
  }

 private:
  std::vector<uint64_t> counts_;  // by the number of the stream
};

// All that happens before a point of a stream: an event's record, for example. Null if nobody checks the order.
using Moment = std::shared_ptr<const Clock>;

}  // namespace opwright::order
