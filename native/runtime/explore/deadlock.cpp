#include "runtime/explore/deadlock.h"

#include <set>
#include <vector>

#include "runtime/order/python_lines.h"

namespace opwright::explore {
namespace {

std::string state_of(const Lane& lane) {
  if (!lane.current) return lane.queue.empty() ? "has nothing to run" : "has tasks that have not begun";
  const std::string task = text("is in ", lane.current->name);
  switch (lane.state) {
    case Lane::State::kWaits:
      return text(task, ", which waits for ", lane.wait->what);
    case Lane::State::kOutside:
      return text(task, ", which waits for ", lane.outside);
    case Lane::State::kWorks:
    case Lane::State::kPauses:
    case Lane::State::kReturns:
      break;
  }
  return text(task, ", which does not end");
}

// A line for each stream that is waited for, one behind the other.
std::string chain_from(const Lanes& lanes, int32_t stream) {
  std::string words;
  std::set<int32_t> seen;
  std::vector<int32_t> open;
  const auto follow = [&](int32_t on) {
    if (on != kAnyStream) return open.push_back(on);
    for (const auto& [each, lane] : lanes) {
      if (lane->current && seen.count(each) == 0) open.push_back(each);
    }
  };
  follow(stream);
  while (!open.empty()) {
    const int32_t at = open.back();
    open.pop_back();
    const auto found = lanes.find(at);
    if (found == lanes.end()) continue;
    const Lane& lane = *found->second;
    if (!seen.insert(at).second) {
      words += text("  which is where ", lane.name(), " waits: a circle\n");
      continue;
    }
    words += text("  ", lane.name(), " ", state_of(lane), "\n");
    if (lane.current) words += order::indent(lane.current->place);
    if (lane.wait != nullptr) follow(lane.wait->on);
  }
  return words;
}

}  // namespace

std::string describe_deadlock(const Lanes& lanes, const std::list<Host*>& hosts) {
  std::string words = "opwright: deadlock: the host waits, and nothing that it waits for can happen\n";
  for (const Host* const host : hosts) {
    if (host->wait == nullptr) continue;
    words += text("  the host waits for ", host->wait->what,
                  host->holds_python_lock ? ", with Python's lock, which nobody else gets meanwhile" : "", "\n",
                  order::indent(host->place));
    words += chain_from(lanes, host->wait->on);
  }
  return words;
}

}  // namespace opwright::explore
