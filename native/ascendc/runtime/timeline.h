// native/ascendc/runtime/timeline.h
// The instructions of a core as rows of the trace, one per pipe: which come after each other and which overlap. The
// pipes are imagined to work as long as they move bytes; lengths say no more than that.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/machine.h"

namespace AscendC::machine {

class Timeline {
 public:
  void begin_instruction(Pipe pipe, const char* api);
  void access(const Region& region);
  void signal_order(const void* key, Pipe from);
  void await_order(const void* key, Pipe to);
  void set_event(HardEvent event, int32_t id);
  void wait_event(HardEvent event, int32_t id);
  void barrier_order(uint8_t pipe_or_all);

  // Writes the rows of the calling thread's core, which ran from `begin` to `end` on the trace's clock.
  void write(double begin, double end);

 private:
  struct Event {
    const char* api;
    Pipe pipe;
    uint64_t begin;
    uint64_t end;
    uint64_t bytes;
  };
  static constexpr size_t kMost = 4096;  // instructions per core; what follows is only counted

  void close();
  uint64_t& free_at(Pipe pipe) { return free_[static_cast<size_t>(pipe)]; }

  uint64_t free_[kPipes] = {};  // when a pipe has done all that it was given
  Event open_{nullptr, Pipe::kScalar, 0, 0, 0};
  std::vector<Event> events_;
  uint64_t more_ = 0;
  std::unordered_map<const void*, uint64_t> signals_;
  std::map<std::pair<HardEvent, int32_t>, uint64_t> flags_;
};

// Of the calling thread; nullptr while nothing is traced.
Timeline* current_timeline();
Timeline* exchange_current_timeline(Timeline* timeline);

}  // namespace AscendC::machine
