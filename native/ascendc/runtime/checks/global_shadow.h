// native/ascendc/runtime/checks/global_shadow.h
// Which core touched which bytes of global memory, to find cores that get in each other's way. Of one launch.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ascendc/runtime/checks/clocks.h"
#include "ascendc/runtime/checks/place.h"
#include "core/machine.h"

namespace AscendC::machine {

// An access by an instruction of a core.
struct Touch {
  uint32_t core = 0;
  uint32_t epoch = 0;   // of the core: how often it had published its clock
  uint32_t number = 0;  // of the instruction in its pipe
  Access kind = Access::kRead;
  const Place* place = nullptr;
};

class GlobalShadow {
 public:
  struct Conflict {
    Touch earlier;
    uintptr_t address;
  };
  // Notes an access, and returns the first conflict: with another core that `cores` does not know to be done, or with
  // another pipe of this core that `pipes` does not.
  std::optional<Conflict> touch(uintptr_t begin, uint64_t bytes, const Touch& now, const CoreClock& cores,
                                PipeClock& pipes);
  // Notes a write through the data cache of a core, and returns the last one to this line if another core made it that
  // `cores` does not know to be done. Caches are not coherent: the core that writes back last wins.
  std::optional<Touch> write_line(uintptr_t address, const Touch& now, const CoreClock& cores);

  static constexpr uintptr_t kLineBytes = 64;

 private:
  struct Span {
    uintptr_t end;
    Touch writer;
    std::vector<Touch> since;  // reads and atomic updates after it, at most one of each per core and pipe
  };
  using Spans = std::map<uintptr_t, Span>;  // by begin; they do not overlap

  Spans::iterator split(uintptr_t at);
  void note(Span& span, const Touch& now);
  void merge(Spans::iterator span);

  std::mutex mutex_;
  Spans spans_;
  std::unordered_map<uintptr_t, Touch> lines_;  // last writers through caches, by number of the line
};

}  // namespace AscendC::machine
