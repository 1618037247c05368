#include "runtime/order/order.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "runtime/memory/memory.h"
#include "runtime/order/findings.h"
#include "runtime/order/python_lines.h"
#include "runtime/order/shadow.h"
#include "runtime/settings.h"
#include "runtime/streams/stream.h"

namespace opwright::order {
namespace {

constexpr size_t kLeastThreshold = 4096;

// A stream that the program can name. Others run parts of a task that was noted as a whole.
bool is_named(const Stream& stream) { return stream.id() >= 0; }

struct StreamState {
  Clock clock;
  uint64_t launches = 0;
  uint64_t host_version = 0;  // of what the clock has of the host's
};

// All that is known. Its mutex is taken last of all: nothing is called under it that takes another one.
struct State {
  std::mutex mutex;
  std::unordered_map<int32_t, StreamState> streams;
  Clock host;  // of what the host has waited for
  uint64_t host_version = 0;
  std::map<const void*, Moment> flags;
  Shadow shadow;
  size_t prune_threshold = kLeastThreshold;

  StreamState& of(const Stream& stream) {
    StreamState& found = streams[stream.id()];
    if (found.host_version != host_version) {
      found.clock.join(host);
      found.host_version = host_version;
    }
    return found;
  }
};

State& state() {
  static State* const instance = new State();  // workers run until the process ends
  return *instance;
}

bool touches_device(const MemoryRange& range) { return range.bytes > 0 && memory::is_device_address(range.address); }

// Words of flags that streams set and wait for are there for this.
bool is_flag(const Task& task) {
  const std::string name = task.name();
  return name == "aclrtValueWrite" || name == "aclrtValueWait";
}

Access access_of(const MemoryRange& range, std::shared_ptr<const Launch> launch) {
  Access access{std::move(launch), range.what,   reinterpret_cast<uintptr_t>(range.address),
                range.bytes,       range.read,   range.written,
                range.run,         range.repeats};
  // A view whose runs follow each other without a gap.
  if (access.runs() * access.run == access.bytes) access.repeats.clear();
  return access;
}

}  // namespace

bool enabled() {
  static const bool value = integer_setting("OPWRIGHT_ORDER", 0, 0, 1, ACL_ERROR_INVALID_PARAM) == 1;
  return value;
}

void note_launch(const Stream& stream, Task& task) {
  if (!enabled() || !is_named(stream) || is_flag(task)) return;
  std::vector<MemoryRange> ranges = task.memory_ranges();
  ranges.erase(std::remove_if(ranges.begin(), ranges.end(), [](const auto& each) { return !touches_device(each); }),
               ranges.end());
  if (ranges.empty()) return;
  const std::string lines = python_lines();
  std::vector<std::pair<AccessPtr, AccessPtr>> found;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    StreamState& here = state().of(stream);
    here.clock.set(stream.id(), ++here.launches);
    const auto launch =
        std::make_shared<const Launch>(Launch{stream.device(), stream.id(), here.launches, task.name(), lines});
    std::vector<AccessPtr> conflicts;
    for (const MemoryRange& range : ranges) {
      const auto access = std::make_shared<const Access>(access_of(range, launch));
      conflicts.clear();
      state().shadow.add(access, here.clock, conflicts);
      for (AccessPtr& each : conflicts) found.emplace_back(std::move(each), access);
    }
    if (state().shadow.size() >= state().prune_threshold) {
      state().shadow.prune(state().host);
      state().prune_threshold = std::max(kLeastThreshold, 2 * state().shadow.size());
    }
  }
  for (const auto& [earlier, later] : found) report(*earlier, *later);
}

Moment moment_of(const Stream& stream) {
  if (!enabled() || !is_named(stream)) return nullptr;
  const std::lock_guard<std::mutex> lock(state().mutex);
  return std::make_shared<const Clock>(state().of(stream).clock);
}

void note_wait(const Stream& stream, const Moment& moment) {
  if (!enabled() || moment == nullptr || !is_named(stream)) return;
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().of(stream).clock.join(*moment);
}

void note_seen(const Moment& moment) {
  if (!enabled() || moment == nullptr) return;
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().host.join(*moment);
  ++state().host_version;
}

void note_host_access(const char* function, const MemoryRange& range) {
  if (!enabled() || !touches_device(range)) return;
  const auto launch = std::make_shared<const Launch>(Launch{-1, -1, 0, function, python_lines()});
  const Access access = access_of(range, launch);
  std::vector<AccessPtr> conflicts;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().shadow.look(access, state().host, conflicts);
  }
  for (const AccessPtr& each : conflicts) report(*each, access);
}

void note_flag_set(const Stream& stream, const void* flag) {
  Moment moment = moment_of(stream);
  if (moment == nullptr) return;
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().flags[flag] = std::move(moment);
}

void note_flag_wait(const Stream& stream, const void* flag) {
  if (!enabled()) return;
  Moment moment;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    const auto known = state().flags.find(flag);
    if (known != state().flags.end()) moment = known->second;
  }
  note_wait(stream, moment);
}

void forget(const void* begin, size_t bytes) {
  if (!enabled()) return;
  const std::lock_guard<std::mutex> lock(state().mutex);
  const auto first = reinterpret_cast<uintptr_t>(begin);
  state().shadow.forget(first, bytes);
  auto& flags = state().flags;
  flags.erase(flags.lower_bound(begin), flags.lower_bound(reinterpret_cast<const void*>(first + bytes)));
}

}  // namespace opwright::order
