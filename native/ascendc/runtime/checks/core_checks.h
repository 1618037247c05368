// native/ascendc/runtime/checks/core_checks.h
// The checks of one core: instructions, buffers, events and flags between pipes. Used by the thread that runs the core.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ascendc/runtime/checks.h"
#include "ascendc/runtime/checks/clocks.h"
#include "ascendc/runtime/checks/local_shadow.h"
#include "ascendc/runtime/checks/place.h"

namespace AscendC::machine {

class CoreChecks {
 public:
  CoreChecks(Checks& launch, uint32_t index) : launch_(launch), index_(index) {
    cores_.resize(index + 1, 0);
    cores_[index] = 1;  // 0 is what everybody knows of a core that has published nothing
  }

  // ---- of core/machine.h
  void begin_instruction(Pipe pipe, const char* api, const Site& site);
  void access(const char* operand, const Region& region, Access kind);
  void unaligned(const char* operand, const void* address, size_t bytes);
  void note_cached_write(const void* address);
  void signal_order(const void* key, Pipe from, Pipe to, const Site& site);
  void await_order(const void* key, Pipe to);
  void drop_order(const void* key);
  void barrier_order(uint8_t pipe_or_all);
  void note_buffer(const uint8_t* base, uint32_t bytes, BufferState state, Pipe producer, const Site& site);
  void forget_buffers(Memory memory);
  void note_raw_address() { raw_ = true; }
  void set_event(HardEvent event, int32_t id, const Site& site);
  void wait_event(HardEvent event, int32_t id, const Site& site);

  // The kernel has returned.
  void finish();
  // Its knowledge of its memory and instructions is not needed any more; its places are.
  void release_shadow() {
    shadow_.reset();
    moments_ = {};
  }

  CoreClock& clock() { return cores_; }
  uint32_t index() const { return index_; }
  // All pipes are done with what they did, as waiting for another core or its own scalar code implies.
  void wait_for_all_pipes();

 private:
  // A buffer that the TPipe gave out.
  struct Known {
    uint32_t bytes;
    BufferState state;
    Pipe producer;
    Site changed;  // where its state changed last
  };
  using Buffers = std::map<uintptr_t, Known>;  // by first byte; they do not overlap
  struct Signal {
    PipeClock clock;
    Pipe from;
    Pipe to;
    int id;  // of the event; -1 for none
  };
  struct Flag {
    PipeClock clock{};
    bool set = false;
    Site site;
  };
  // Bytes that an instruction has read and that nobody has written, as parts of what it reads in a row.
  struct Unwritten {
    uint64_t bytes = 0;  // that it reads
    uint64_t missing = 0;
    std::vector<std::pair<uint64_t, uint64_t>> parts;  // begin and end
  };

  void access_run(const char* operand, const uint8_t* begin, uint32_t bytes, Access kind, uint64_t position,
                  const MemorySpan& buffer);
  void access_local(const char* operand, Memory memory, const uint8_t* begin, uint32_t bytes, Access kind,
                    uint64_t position, const MemorySpan& buffer);
  void access_global(const char* operand, const uint8_t* begin, uint32_t bytes, Access kind);
  // The buffer that the pipe gave out around an address, if there is one.
  Buffers::const_iterator buffer_at(const uint8_t* byte) const;
  MemorySpan span_at(const uint8_t* byte) const;
  // Whether bytes lie in the buffer of their operand, if it has one; reported if not.
  bool check_bounds(const char* operand, Memory memory, const uint8_t* begin, uint32_t bytes, const MemorySpan& buffer);
  // False if the buffer's state forbids the access, which is reported then.
  bool check_state(const char* operand, const uint8_t* begin, Access kind);
  void read_definedness(Memory memory, uint32_t offset, uint32_t bytes, uint64_t position);
  void write_definedness(Memory memory, uint32_t offset, uint32_t bytes, uint64_t position);
  void report(const char* id, const char* title, const std::string& call, const std::string& got,
              const std::string& allowed, const Site& site, const std::string& other = "",
              const Site& other_site = Site());
  std::string call_text(const char* operand) const;
  PipeClock& pipe_clock(Pipe pipe) { return pipes_[static_cast<size_t>(pipe)]; }
  const Place* place_of_moment(Moment moment) const;
  void give_event(Signal& signal, const Site& site);
  void take_event(const Signal& signal);

  Checks& launch_;
  const uint32_t index_;
  CoreClock cores_;
  std::array<PipeClock, kPipes> pipes_{};
  std::unique_ptr<LocalShadow> shadow_ = std::make_unique<LocalShadow>();
  bool raw_ = false;

  // The instruction that runs.
  Pipe pipe_ = Pipe::kScalar;
  const Place* place_ = nullptr;
  std::vector<Unwritten> unwritten_;  // by operand
  uint64_t writing_ = 0;              // bytes of the operand that is written now

  std::array<std::vector<const Place*>, kPipes> moments_;  // by number
  std::deque<Place> places_;
  std::map<std::pair<const char*, Site>, const Place*> known_places_;
  Buffers buffers_;
  std::unordered_map<const void*, Signal> signals_;
  std::map<std::pair<HardEvent, int32_t>, Flag> flags_;
  std::map<std::pair<Pipe, Pipe>, int> queue_events_;  // ids that buffers hold, a bit each
};

// Of the calling thread; nullptr without checks.
CoreChecks* current_checks();
CoreChecks* exchange_current_checks(CoreChecks* checks);

}  // namespace AscendC::machine
