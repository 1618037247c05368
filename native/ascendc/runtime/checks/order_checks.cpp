// native/ascendc/runtime/checks/order_checks.cpp
// Queues, events and flags: what orders the pipes of a core.
#include <utility>

#include "ascendc/runtime/checks/core_checks.h"
#include "core/pipe.h"
#include "runtime/error.h"

namespace AscendC::machine {

using opwright::text;

namespace {

constexpr int kEventIds = 8;  // per pair of pipes, on Atlas A2

uint8_t& events_of(Pipe from, Pipe to) { return core().events[static_cast<size_t>(from)][static_cast<size_t>(to)]; }

HardEvent event_of(Pipe from, Pipe to) {
  return static_cast<HardEvent>(static_cast<int>(from) << 4 | static_cast<int>(to));
}

std::string event_text(HardEvent event) {
  // PIPE_MTE2 and PIPE_V make MTE2_V.
  return text(name_of(source_of(event)) + 5, "_", name_of(destination_of(event)) + 5);
}

}  // namespace

void CoreChecks::wait_for_all_pipes() {
  PipeClock done{};
  for (const PipeClock& clock : pipes_) join(done, clock);
  pipes_.fill(done);
}

// ---- queues

// A buffer between two pipes holds an event id until the other one has waited.
void CoreChecks::give_event(Signal& signal, const Site& site) {
  signal.id = -1;
  if (signal.from == signal.to) return;
  uint8_t& taken = events_of(signal.from, signal.to);
  for (int id = 0; id < kEventIds; ++id) {
    if ((taken >> id & 1) != 0) continue;
    taken = static_cast<uint8_t>(taken | 1 << id);
    queue_events_[{signal.from, signal.to}] |= 1 << id;
    signal.id = id;
    const auto flag = flags_.find({event_of(signal.from, signal.to), id});
    if (flag != flags_.end() && flag->second.set) {
      report("OPW-X016", "an event id is used twice", "EnQue or FreeTensor",
             text("the queue gets id ", id, " from ", name_of(signal.from), " to ", name_of(signal.to),
                  ", which a SetFlag has set"),
             "ids from TPipe::AllocEventID for flags beside queues", site,
             text("set at ", place_of(flag->second.site)));
    }
    return;
  }
  report(
      "OPW-X016", "the pipes have no event id left for a buffer", "EnQue or FreeTensor",
      text("all ", kEventIds, " ids from ", name_of(signal.from), " to ", name_of(signal.to), " are in use"),
      text("at most ", kEventIds, " buffers in the queues of one position; FreeAllEvent gives the ids of a queue back"),
      site);
}

void CoreChecks::take_event(const Signal& signal) {
  if (signal.id < 0) return;
  uint8_t& taken = events_of(signal.from, signal.to);
  taken = static_cast<uint8_t>(taken & ~(1 << signal.id));
  queue_events_[{signal.from, signal.to}] &= ~(1 << signal.id);
}

void CoreChecks::signal_order(const void* key, Pipe from, Pipe to, const Site& site) {
  drop_order(key);
  PipeClock clock = pipe_clock(from);
  join(clock, pipe_clock(Pipe::kScalar));
  Signal signal{clock, from, to, -1};
  give_event(signal, site);
  signals_[key] = signal;
}

void CoreChecks::await_order(const void* key, Pipe to) {
  const auto found = signals_.find(key);
  if (found == signals_.end()) return;
  join(pipe_clock(to), found->second.clock);
  take_event(found->second);
  signals_.erase(found);
}

void CoreChecks::drop_order(const void* key) {
  const auto found = signals_.find(key);
  if (found == signals_.end()) return;
  take_event(found->second);
  signals_.erase(found);
}

void CoreChecks::barrier_order(uint8_t pipe_or_all) {
  // Within one pipe the order is kept anyway.
  if (pipe_or_all == kAllPipes) wait_for_all_pipes();
}

// ---- buffers

void CoreChecks::note_buffer(const uint8_t* base, uint32_t bytes, BufferState state, Pipe producer, const Site& site) {
  if (bytes == 0) return;  // tensors of it know that they have none
  const auto begin = reinterpret_cast<uintptr_t>(base);
  const auto same = buffers_.find(begin);
  if (same != buffers_.end() && same->second.bytes == bytes) {
    same->second = Known{bytes, state, producer, site};
    return;
  }
  // Memory that was given out in other pieces before, as pools and Reset do.
  auto cursor = buffers_.lower_bound(begin);
  if (cursor != buffers_.begin() && std::prev(cursor)->first + std::prev(cursor)->second.bytes > begin) --cursor;
  while (cursor != buffers_.end() && cursor->first < begin + bytes) cursor = buffers_.erase(cursor);
  // Nobody has given it back yet.
  buffers_[begin] = Known{bytes, state, producer, Site()};
}

void CoreChecks::forget_buffers(Memory memory) {
  const MemorySpan& span = core().memory[static_cast<size_t>(memory)];
  const auto begin = reinterpret_cast<uintptr_t>(span.base);
  buffers_.erase(buffers_.lower_bound(begin), buffers_.lower_bound(begin + span.bytes));
}

// ---- flags

void CoreChecks::set_event(HardEvent event, int32_t id, const Site& site) {
  const Pipe from = source_of(event);
  const std::string call = text("SetFlag<", event_text(event), ">(", id, ")");
  if (id < 0 || id >= kEventIds) {
    report("OPW-X015", "an event id is out of range", call, text("id ", id), text("0 to ", kEventIds - 1), site);
    return;
  }
  if ((queue_events_[{from, destination_of(event)}] >> id & 1) != 0) {
    report("OPW-X016", "an event id is used twice", call,
           text("a queue has id ", id, " for a tensor between these pipes at present"),
           "ids from TPipe::AllocEventID or FetchEventID", site);
  }
  Flag& flag = flags_[{event, id}];
  if (flag.set) {
    report("OPW-X016", "an event id is used twice", call, "the flag is set and nobody has waited for it",
           "one WaitFlag after each SetFlag of an id", site, text("set at ", place_of(flag.site)));
  }
  flag = Flag{pipe_clock(from), true, site};
  join(flag.clock, pipe_clock(Pipe::kScalar));
}

void CoreChecks::wait_event(HardEvent event, int32_t id, const Site& site) {
  const auto found = flags_.find({event, id});
  if (found == flags_.end() || !found->second.set) {
    report("OPW-X017", "an event is waited for that nobody has set",
           text("WaitFlag<", event_text(event), ">(", id, ")"), "no SetFlag of this event and id came before",
           "a SetFlag with the same event and id before each WaitFlag", site);
    return;
  }
  found->second.set = false;
  join(pipe_clock(destination_of(event)), found->second.clock);
}

void CoreChecks::finish() {
  for (const auto& [key, flag] : flags_) {
    if (!flag.set) continue;
    report("OPW-X018", "an event is left over at the end of the kernel",
           text("SetFlag<", event_text(key.first), ">(", key.second, ")"), "nobody has waited for it",
           "a WaitFlag for each SetFlag: the next kernel on this core finds the flag set", flag.site);
  }
}

}  // namespace AscendC::machine
