#include "runtime/order/flags.h"

#include <algorithm>
#include <utility>

namespace opwright::order {
namespace {

bool is_before(const Launch& launch, const Clock& moment) {
  return Position{launch.timeline, launch.number}.is_before(moment);
}

}  // namespace

void Flags::note_value(Flag& flag, uint64_t value) {
  if (flag.value.value_or(value) != value) {
    flag.counts = true;
    flag.pending.clear();
    flag.clear = nullptr;
  }
  flag.value = value;
}

bool Flags::is_open(const Clock& moment) const {
  const auto is_behind = [&](const LaunchPtr& wait) { return is_before(*wait, moment); };
  return std::any_of(flags_.begin(), flags_.end(), [&](const auto& entry) {
    const auto& pending = entry.second.pending;
    return std::any_of(pending.begin(), pending.end(), [&](const Round& round) {
      return std::any_of(round.waits.begin(), round.waits.end(), is_behind);
    });
  });
}

Flags::Set Flags::set(const FlagUse& use, const Moment& before) {
  Flag& flag = flags_[use.flag];
  note_value(flag, use.value);
  Set result;
  if (flag.clear != nullptr && !is_before(*flag.clear, *before) && !is_open(*before)) result.clear = flag.clear;
  while (!flag.pending.empty()) {
    Round round = std::move(flag.pending.front());
    flag.pending.pop_front();
    result.waits.insert(result.waits.end(), round.waits.begin(), round.waits.end());
    if (round.clear == nullptr) continue;
    flag.clear = std::move(round.clear);
    return result;
  }
  flag.set = before;
  return result;
}

Moment Flags::wait(const FlagUse& use, LaunchPtr launch) {
  Flag& flag = flags_[use.flag];
  note_value(flag, use.value);
  if (flag.set != nullptr || flag.counts) return flag.set;
  if (flag.pending.empty() || flag.pending.back().clear != nullptr) flag.pending.emplace_back();
  flag.pending.back().waits.push_back(std::move(launch));
  return nullptr;
}

void Flags::clear(const FlagUse& use, LaunchPtr launch) {
  Flag& flag = flags_[use.flag];
  if (flag.counts) return;
  if (flag.pending.empty()) {
    flag.set = nullptr;
    flag.clear = std::move(launch);
  } else {
    flag.pending.back().clear = std::move(launch);
  }
}

void Flags::forget(const void* begin, const void* end) {
  flags_.erase(flags_.lower_bound(begin), flags_.lower_bound(end));
}

}  // namespace opwright::order
