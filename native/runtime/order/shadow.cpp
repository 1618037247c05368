#include "runtime/order/shadow.h"

#include <algorithm>
#include <iterator>

namespace opwright::order {
namespace {

// A view with more runs is coarse: each run takes an entry.
constexpr size_t kMostRuns = 1024;

// Calls visit(begin, end) for each run of neighbouring bytes.
template <class Visit>
void each_run(const Access& access, const Visit& visit) {
  if (access.repeats.empty()) return visit(access.begin, access.begin + access.bytes);
  std::vector<size_t> place(access.repeats.size(), 0);
  while (true) {
    uintptr_t begin = access.begin;
    for (size_t i = 0; i < place.size(); ++i) begin += place[i] * access.repeats[i].step;
    visit(begin, begin + access.run);
    size_t moved = place.size();
    while (moved > 0 && ++place[moved - 1] == access.repeats[moved - 1].count) place[--moved] = 0;
    if (moved == 0) return;
  }
}

using Run = std::pair<uintptr_t, uintptr_t>;

std::vector<Run> sorted_runs(const Access& access) {
  std::vector<Run> runs;
  runs.reserve(access.runs());
  each_run(access, [&](uintptr_t begin, uintptr_t end) { runs.emplace_back(begin, end); });
  std::sort(runs.begin(), runs.end());
  return runs;
}

bool share_bytes(const Access& left, const Access& right) {
  const std::vector<Run> first = sorted_runs(left);
  const std::vector<Run> second = sorted_runs(right);
  auto other = second.begin();
  for (const auto& [begin, end] : first) {
    // Runs of one access may overlap each other, but those that begin later do not end earlier.
    while (other != second.end() && other->second <= begin) ++other;
    if (other != second.end() && other->first < end) return true;
  }
  return false;
}

bool contains(const std::vector<AccessPtr>& accesses, const AccessPtr& access) {
  return std::find(accesses.begin(), accesses.end(), access) != accesses.end();
}

bool have_same_bytes(const Access& left, const Access& right) {
  return left.begin == right.begin && left.bytes == right.bytes && left.run == right.run &&
         left.repeats == right.repeats;
}

// An access in the same timeline before this one says nothing more: what is not behind the earlier one is not behind
// this.
void add_other(std::vector<AccessPtr>& others, const AccessPtr& access) {
  for (AccessPtr& each : others) {
    if (each->launch->timeline != access->launch->timeline || each->written != access->written) continue;
    if (access->is_coarse() && !have_same_bytes(*each, *access)) continue;  // it leaves bytes of this segment out
    each = access;
    return;
  }
  others.push_back(access);
}

}  // namespace

// Compares earlier accesses with one that is made now.
class Shadow::Search {
 public:
  Search(const Access& access, const Clock& clock, std::vector<AccessPtr>& conflicts)
      : access_(access), clock_(clock), conflicts_(conflicts) {}

  void compare(const Segment& segment) {
    compare(segment.write);
    for (const AccessPtr& each : segment.others) compare(each);
  }

 private:
  void compare(const AccessPtr& earlier) {
    if (earlier == nullptr || is_before(*earlier, clock_) || !(earlier->written || access_.written)) return;
    if (contains(conflicts_, earlier) || contains(apart_, earlier)) return;
    const bool may_lie_between = earlier->is_coarse() || access_.is_coarse();
    (may_lie_between && !share_bytes(*earlier, access_) ? apart_ : conflicts_).push_back(earlier);
  }

  const Access& access_;
  const Clock& clock_;
  std::vector<AccessPtr>& conflicts_;
  std::vector<AccessPtr> apart_;  // an access has many segments, and is compared once
};

bool is_before(const Access& access, const Clock& clock) {
  return access.launch->number <= clock.of(access.launch->timeline);
}

size_t Access::runs() const noexcept {
  size_t count = 1;
  for (const MemoryRange::Repeat& each : repeats) count *= each.count;
  return count;
}

bool Access::is_coarse() const noexcept { return runs() > kMostRuns; }

void Shadow::add(const AccessPtr& access, const Clock& clock, std::vector<AccessPtr>& conflicts) {
  Search search(*access, clock, conflicts);
  if (access->is_coarse()) return touch(access, access->begin, access->begin + access->bytes, search);
  each_run(*access, [&](uintptr_t begin, uintptr_t end) {
    if (access->written) {
      write(access, begin, end, search);
    } else {
      touch(access, begin, end, search);
    }
  });
}

void Shadow::write(const AccessPtr& access, uintptr_t begin, uintptr_t end, Search& search) {
  split(begin);
  split(end);
  const auto first = segments_.lower_bound(begin);
  auto it = first;
  for (; it != segments_.end() && it->first < end; ++it) search.compare(it->second);
  segments_.emplace_hint(segments_.erase(first, it), begin, Segment{end, access, {}});
}

void Shadow::touch(const AccessPtr& access, uintptr_t begin, uintptr_t end, Search& search) {
  split(begin);
  split(end);
  auto it = segments_.lower_bound(begin);
  for (uintptr_t at = begin; at < end;) {
    const uintptr_t next = it == segments_.end() ? end : std::min(it->first, end);
    if (at < next) {  // bytes that nobody has touched yet
      segments_.emplace_hint(it, at, Segment{next, nullptr, {access}});
      at = next;
      continue;
    }
    search.compare(it->second);
    add_other(it->second.others, access);
    at = it->second.end;
    ++it;
  }
}

void Shadow::look(const Access& access, const Clock& clock, std::vector<AccessPtr>& conflicts) const {
  const uintptr_t end = access.begin + access.bytes;
  auto it = segments_.upper_bound(access.begin);
  if (it != segments_.begin() && std::prev(it)->second.end > access.begin) --it;
  Search search(access, clock, conflicts);
  for (; it != segments_.end() && it->first < end; ++it) search.compare(it->second);
}

void Shadow::forget(uintptr_t begin, size_t bytes) {
  split(begin);
  split(begin + bytes);
  segments_.erase(segments_.lower_bound(begin), segments_.lower_bound(begin + bytes));
}

void Shadow::prune(const Clock& seen) {
  for (auto it = segments_.begin(); it != segments_.end();) {
    Segment& segment = it->second;
    if (segment.write != nullptr && is_before(*segment.write, seen)) segment.write = nullptr;
    auto& others = segment.others;
    others.erase(
        std::remove_if(others.begin(), others.end(), [&](const AccessPtr& each) { return is_before(*each, seen); }),
        others.end());
    it = segment.write == nullptr && others.empty() ? segments_.erase(it) : std::next(it);
  }
}

void Shadow::split(uintptr_t at) {
  auto it = segments_.lower_bound(at);
  if (it == segments_.begin()) return;
  --it;
  if (it->first >= at || it->second.end <= at) return;
  Segment behind = it->second;
  it->second.end = at;
  segments_.emplace_hint(std::next(it), at, std::move(behind));
}

}  // namespace opwright::order
