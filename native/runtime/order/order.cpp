#include "runtime/order/order.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/memory/host_memory.h"
#include "runtime/memory/memory.h"
#include "runtime/order/findings.h"
#include "runtime/order/flags.h"
#include "runtime/order/host_accesses.h"
#include "runtime/order/pool_memory.h"
#include "runtime/order/python_lines.h"
#include "runtime/order/shadow.h"
#include "runtime/order/tensor_memory.h"
#include "runtime/settings.h"
#include "runtime/streams/stream.h"

namespace opwright::order {
namespace {

constexpr size_t kLeastThreshold = 4096;

// A stream that the program can name. Others run parts of a task that was noted as a whole.
bool is_named(const Stream& stream) { return stream.id() >= 0; }

struct Timeline {
  Clock clock;
  uint64_t launches = 0;
  uint64_t host_version = 0;  // of what the clock has of the host's
};

// A stream's wait for an event that another one recorded.
struct Wait {
  std::string recorded_at;  // lines of Python
  std::string waited_at;
};

// All that is known. Its mutex is taken last of all: nothing is called under it that takes another one.
struct State {
  std::mutex mutex;
  std::map<std::pair<int32_t, size_t>, size_t> numbers;  // of timelines, by stream and lane
  std::vector<Timeline> timelines;
  Clock host;  // of what the host has waited for
  uint64_t host_version = 0;
  Flags flags;
  std::map<std::pair<int32_t, int32_t>, Wait> last_waits;  // by the stream that waits, and the one that recorded
  Shadow shadow;
  PoolMemory pools;
  size_t prune_threshold = kLeastThreshold;

  size_t number_of(int32_t stream, size_t lane = 0) {
    const auto [found, added] = numbers.try_emplace({stream, lane}, timelines.size());
    if (added) timelines.emplace_back();
    return found->second;
  }
  Timeline& of(const Stream& stream) {
    Timeline& found = timelines[number_of(stream.id())];
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

// Memory that tasks of several streams can meet in.
bool is_shared(const MemoryRange& range) {
  return range.bytes > 0 && (memory::is_device_address(range.address) || host_memory::is_pinned(range.address));
}

Access access_of(const MemoryRange& range, std::shared_ptr<const Launch> launch) {
  Access access{std::move(launch), range.what,    reinterpret_cast<uintptr_t>(range.address),
                range.bytes,       range.read,    range.written,
                range.run,         range.repeats, tensor_at(range.address)};
  // A view whose runs follow each other without a gap.
  if (access.runs() * access.run == access.bytes) access.repeats.clear();
  return access;
}

std::vector<MemoryRange> keep_shared(std::vector<MemoryRange> ranges) {
  ranges.erase(std::remove_if(ranges.begin(), ranges.end(), [](const auto& each) { return !is_shared(each); }),
               ranges.end());
  return ranges;
}

// Whether the pool still has the contents of the tensor: no graph has written another one's there.
bool is_kept(const MemoryRange& range, uint64_t tensor) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return !state().pools.is_overwritten(reinterpret_cast<uintptr_t>(range.address), range.bytes, tensor);
}

void note_pool_write(const MemoryRange& range, uint64_t tensor) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().pools.write(reinterpret_cast<uintptr_t>(range.address), range.bytes, tensor);
}

// Memory of tensors that were there before the capture and are gone, and what the replay writes to its pool.
void note_tensors(const std::vector<MemoryRange>& ranges, const Captured& captured, const Launch& launch) {
  if (captured.tensors.size() != ranges.size()) return;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint64_t tensor = captured.tensors[i];
    if (tensor == 0) continue;
    const bool is_pooled = is_of_pool(tensor);
    const bool is_gone = tensor <= captured.last_tensor && tensor_at(ranges[i].address) != tensor;
    if (is_gone && !(is_pooled && is_kept(ranges[i], tensor))) {
      report_freed(access_of(ranges[i], std::make_shared<const Launch>(launch)), end_of(tensor));
    }
    if (is_pooled && ranges[i].written) note_pool_write(ranges[i], tensor);
  }
}

// The last wait of the later one's stream for the earlier one's, in words. Nothing orders the two, so it was for a
// record before the earlier one.
std::string describe_last_wait(const Launch& earlier, const Launch& later) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  const auto found = state().last_waits.find({later.stream, earlier.stream});
  if (found == state().last_waits.end()) return "";
  const Wait& wait = found->second;
  const char* const recorded = wait.recorded_at.empty() ? "" : "    the event was recorded here\n";
  return text("  its last wait for stream ", earlier.stream,
              " is for an event that was recorded before the first one\n", indent(wait.waited_at), recorded,
              indent(wait.recorded_at));
}

// The consequences of a launch; they are seen to when the mutex is free again.
struct Effects {
  std::vector<std::pair<AccessPtr, AccessPtr>> conflicts;  // the earlier one, the later one
  std::vector<AccessPtr> to_pinned_memory;
  Clock clock;  // of the launch, if it touches pinned memory

  void apply() const {
    for (const AccessPtr& each : to_pinned_memory) hold(each, clock);
    for (const auto& [earlier, later] : conflicts) {
      report(*earlier, *later, describe_last_wait(*earlier->launch, *later->launch));
    }
  }
};

// Notes what a task outside of graphs writes to a pool. Where no tensor is, the program means the address: torch_npu's
// graph trees copy a replay's inputs to memory whose tensors are gone.
void note_eager_pool_write(PoolMemory& pools, const Access& access) {
  if (!access.written || access.launch->task == 0) return;
  if (access.tensor == 0) return pools.forget(access.begin, access.bytes);
  if (is_of_pool(access.tensor)) pools.write(access.begin, access.bytes, access.tensor);
}

// Counts a launch on its timeline, and compares it with what was launched before. The caller holds the mutex.
void add_launch(Launch launch, const std::vector<MemoryRange>& ranges, Effects& effects) {
  State& known = state();
  Timeline& here = known.timelines[launch.timeline];
  launch.number = ++here.launches;
  here.clock.set(launch.timeline, launch.number);
  const auto shared = std::make_shared<const Launch>(std::move(launch));
  std::vector<AccessPtr> conflicts;
  for (const MemoryRange& range : ranges) {
    const auto access = std::make_shared<const Access>(access_of(range, shared));
    note_eager_pool_write(known.pools, *access);
    conflicts.clear();
    known.shadow.add(access, here.clock, conflicts);
    for (AccessPtr& each : conflicts) effects.conflicts.emplace_back(std::move(each), access);
    if (!memory::is_device_address(range.address)) effects.to_pinned_memory.push_back(access);
  }
  if (!effects.to_pinned_memory.empty()) effects.clock = here.clock;
  if (known.shadow.size() < known.prune_threshold) return;
  known.shadow.prune(known.host);
  known.prune_threshold = std::max(kLeastThreshold, 2 * known.shadow.size());
}

// Counts a call of a host function on its timeline.
void add_call(HostFunction& function, size_t timeline) {
  Moment before;
  Position position;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    Timeline& here = state().timelines[timeline];
    before = std::make_shared<const Clock>(here.clock);
    position = {timeline, ++here.launches};
    here.clock.set(timeline, position.number);
  }
  function.add_call(std::make_shared<const HostCall>(std::move(before), position));
}

// Counts a use of a flag on its timeline. What ends a wait that was launched before happens before what is launched
// behind that wait from now on.
void add_flag_use(const FlagUse& use, Launch launch) {
  LaunchPtr set;
  LaunchPtr clear;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    Timeline& here = state().timelines[launch.timeline];
    const auto before = std::make_shared<const Clock>(here.clock);
    launch.number = ++here.launches;
    here.clock.set(launch.timeline, launch.number);
    const auto shared = std::make_shared<const Launch>(std::move(launch));
    switch (use.kind) {
      case FlagUse::Kind::kWait:
        if (const Moment moment = state().flags.wait(use, shared)) here.clock.join(*moment);
        return;
      case FlagUse::Kind::kClear:
        return state().flags.clear(use, shared);
      case FlagUse::Kind::kSet:
        break;
    }
    Flags::Set result = state().flags.set(use, before);
    for (const LaunchPtr& wait : result.waits) {
      state().timelines[wait->timeline].clock.join(*before);
      state().timelines[state().number_of(wait->stream)].clock.join(*before);
    }
    set = shared;
    clear = std::move(result.clear);
  }
  if (clear != nullptr) report_lost_set(*clear, *set);
}

// The timeline of a stream, with what the host has waited for.
size_t timeline_of(const Stream& stream) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().of(stream);
  return state().number_of(stream.id());
}

}  // namespace

void HostFunction::add_call(Call call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  calls_.push_back(std::move(call));
}

HostFunction::Call HostFunction::begin_call() {
  if (!enabled()) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  if (calls_.empty()) return {};
  Call next = std::move(calls_.front());
  calls_.pop_front();
  return next;
}

RunningFunction::RunningFunction(const HostFunction::Call& call) : outer_(exchange_running_call(call.get())) {
  if (call != nullptr) note_seen(call->before());
}

RunningFunction::~RunningFunction() { exchange_running_call(outer_); }

bool enabled() {
  static const bool value = integer_setting("OPWRIGHT_ORDER", 0, 0, 1, ACL_ERROR_INVALID_PARAM) == 1;
  return value;
}

void start() {
  if (enabled()) follow_tensors();
}

void note_launch(const Stream& stream, Task& task) {
  if (!enabled() || !is_named(stream)) return;
  if (HostFunction* const function = task.host_function()) return add_call(*function, timeline_of(stream));
  if (const FlagUse* const use = task.flag_use()) {
    return add_flag_use(*use, {stream.device(), stream.id(), timeline_of(stream), 0, task.name(), python_lines()});
  }
  const std::vector<MemoryRange> ranges = keep_shared(task.memory_ranges());
  if (ranges.empty()) return;
  Launch launch{stream.device(), stream.id(), 0, 0, task.name(), python_lines(), stream.submitted() + 1};
  Effects effects;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().of(stream);  // with what the host has waited for
    launch.timeline = state().number_of(stream.id());
    add_launch(std::move(launch), ranges, effects);
  }
  effects.apply();
}

std::shared_ptr<const Captured> note_capture(Task& task, uint64_t last_tensor) {
  if (!enabled()) return nullptr;
  Captured captured{python_lines(), {}, last_tensor};
  for (const MemoryRange& range : task.memory_ranges()) {
    const uint64_t tensor = range.bytes == 0 ? 0 : tensor_at(range.address);
    captured.tensors.push_back(tensor);
    if (tensor != 0 && tensor <= last_tensor) remember_end_of(tensor);
  }
  return std::make_shared<const Captured>(std::move(captured));
}

std::shared_ptr<const Captured> note_replacement(Task& task) {
  if (!enabled()) return nullptr;
  return std::make_shared<const Captured>(Captured{python_lines(), {}, 0, task.memory_ranges()});
}

std::shared_ptr<const Captured> replace(const Captured& captured, const Captured& replacement) {
  const std::string& of_capture = captured.capture_lines.empty() ? captured.lines : captured.capture_lines;
  Captured result = replacement;
  result.capture_lines = of_capture;
  if (!result.lines.empty() && !of_capture.empty()) result.lines += text("\nin place of ", of_capture);
  return std::make_shared<const Captured>(std::move(result));
}

Replay::Replay(const Stream& stream, size_t lanes, size_t points)
    : device_(stream.device()), stream_(stream.id()), lines_(python_lines()), points_(points) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  const Clock begin = state().of(stream).clock;
  for (size_t lane = 0; lane < lanes; ++lane) {
    timelines_.push_back(state().number_of(stream_, lane));
    state().timelines[timelines_.back()].clock.join(begin);
  }
}

Replay::~Replay() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  for (const size_t each : timelines_) {
    state().timelines[timelines_.front()].clock.join(state().timelines[each].clock);
  }
}

void Replay::note_launch(size_t lane, Task& task, const Captured& captured) {
  if (HostFunction* const function = task.host_function()) return add_call(*function, timelines_[lane]);
  std::string lines = captured.lines;
  if (!lines_.empty()) lines += text(lines.empty() ? "" : "\n", "replayed by ", lines_);
  Launch launch{device_, stream_, timelines_[lane], 0, task.name(), std::move(lines)};
  if (const FlagUse* const use = task.flag_use()) return add_flag_use(*use, std::move(launch));
  std::vector<MemoryRange> ranges = captured.replaced ? *captured.replaced : task.memory_ranges();
  note_tensors(ranges, captured, launch);
  ranges = keep_shared(std::move(ranges));
  if (ranges.empty()) return;
  Effects effects;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    add_launch(std::move(launch), ranges, effects);
  }
  effects.apply();
}

void Replay::record(size_t lane, size_t point) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  points_[point] = std::make_shared<const Clock>(state().timelines[timelines_[lane]].clock);
}

void Replay::wait(size_t lane, size_t point) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().timelines[timelines_[lane]].clock.join(*points_[point]);
}

Moment moment_of(const Stream& stream) {
  if (!enabled() || !is_named(stream)) return nullptr;
  const std::lock_guard<std::mutex> lock(state().mutex);
  return std::make_shared<const Clock>(state().of(stream).clock);
}

Record record_on(const Stream& stream) {
  Moment moment = moment_of(stream);
  if (moment == nullptr) return {};
  return {std::move(moment), stream.id(), python_lines()};
}

void note_wait(const Stream& stream, const Record& record) {
  if (!enabled() || record.moment == nullptr || !is_named(stream)) return;
  Wait wait{record.lines, python_lines()};
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().of(stream).clock.join(*record.moment);
  state().last_waits.insert_or_assign({stream.id(), record.stream}, std::move(wait));
}

void note_seen(const Moment& moment) {
  if (!enabled() || moment == nullptr) return;
  Clock seen;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().host.join(*moment);
    ++state().host_version;
    if (holds_any()) seen = state().host;
  }
  let_go(seen);
}

bool note_host_access(const char* function, const MemoryRange& range) {
  if (!enabled() || !is_shared(range)) return false;
  const auto launch = std::make_shared<const Launch>(Launch{-1, -1, 0, 0, function, python_lines()});
  const Access access = access_of(range, launch);
  std::vector<AccessPtr> conflicts;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().shadow.look(access, state().host, conflicts);
  }
  for (const AccessPtr& each : conflicts) report(*each, access);
  return !conflicts.empty();
}

void forget(const void* begin, size_t bytes) {
  if (!enabled()) return;
  const std::lock_guard<std::mutex> lock(state().mutex);
  const auto first = reinterpret_cast<uintptr_t>(begin);
  state().shadow.forget(first, bytes);
  state().pools.forget(first, bytes);
  state().flags.forget(begin, reinterpret_cast<const void*>(first + bytes));
}

}  // namespace opwright::order
