// native/runtime/order/flags.h
// Flags that streams set, wait for and clear: external events, and words in device memory that torch_npu makes such
// events of (aclrtValueWrite, aclrtValueWait).
//
// A wait may be launched before the flag is set, as the waits of a captured graph usually are. The set that is launched
// next ends it; what clears the flag behind that wait then has to come before the set after that one, or it takes that
// away and the next wait does not end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/order/clock.h"
#include "runtime/order/shadow.h"

namespace opwright::order {

// A task's use of a flag.
struct FlagUse {
  enum class Kind { kSet, kWait, kClear };
  Kind kind;
  const void* flag;
  uint64_t value = 1;  // that it sets or waits for
};

using LaunchPtr = std::shared_ptr<const Launch>;

class Flags {
 public:
  struct Set {
    LaunchPtr clear;               // that nothing orders with it, or null
    std::vector<LaunchPtr> waits;  // launched before, which it ends
  };
  // `before` is what happens before the set.
  Set set(const FlagUse& use, const Moment& before);
  // Returns the moment before the set that ends the wait; null if none was launched yet.
  Moment wait(const FlagUse& use, LaunchPtr launch);
  void clear(const FlagUse& use, LaunchPtr launch);
  void forget(const void* begin, const void* end);

 private:
  struct Round {
    std::vector<LaunchPtr> waits;  // for a set that was not launched yet
    LaunchPtr clear;               // behind them
  };
  struct Flag {
    Moment set;                     // the last one, until it is cleared
    std::deque<Round> pending;      // in the order of launches
    LaunchPtr clear;                // the last one whose set was launched
    std::optional<uint64_t> value;  // that it has while it is set
    bool counts = false;            // has several values: what clears one is not known
  };

  void note_value(Flag& flag, uint64_t value);
  // Whether what is behind `moment` also waits for a set that was not launched yet: then its order is not known.
  bool is_open(const Clock& moment) const;

  std::map<const void*, Flag> flags_;
};

}  // namespace opwright::order
