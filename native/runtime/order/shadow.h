// native/runtime/order/shadow.h
// For each byte of device memory, who wrote it last and who has read it since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/order/clock.h"
#include "runtime/streams/task.h"

namespace opwright::order {

// A task, at the place where the program has launched it.
struct Launch {
  int device;
  int32_t stream;
  size_t timeline;
  uint64_t number;  // among the launches of the timeline
  std::string function;
  std::string lines;  // of Python, innermost first; of a replayed task those of its capture, then of the replay
  uint64_t task = 0;  // among those of the stream, from 1; 0 for a task of a captured graph, and on the host
};

// One operand of a task.
struct Access {
  std::shared_ptr<const Launch> launch;
  std::string operand;  // its name
  uintptr_t begin;
  size_t bytes;
  bool read;
  bool written;
  size_t run;  // as in MemoryRange, for a view with gaps
  std::vector<MemoryRange::Repeat> repeats;
  uint64_t tensor = 0;  // as tensor_at

  size_t runs() const noexcept;
  // Whether it has too many runs to remember each: the shadow then has one entry from its first byte to its last.
  bool is_coarse() const noexcept;
};
bool is_before(const Access& access, const Clock& clock);

using AccessPtr = std::shared_ptr<const Access>;

class Shadow {
 public:
  // Adds to `conflicts` the earlier accesses of the same bytes that do not happen before `clock`, if one of the two
  // writes.
  void add(const AccessPtr& access, const Clock& clock, std::vector<AccessPtr>& conflicts);
  // The same for an access that is over when it returns: nothing can conflict with it later.
  void look(const Access& access, const Clock& clock, std::vector<AccessPtr>& conflicts) const;
  // Memory that was freed. Whoever gets it next has nothing to do with who had it before.
  void forget(uintptr_t begin, size_t bytes);
  // Forgets what happens before `seen`, as all that is launched from now on happens behind it.
  void prune(const Clock& seen);
  size_t size() const noexcept { return segments_.size(); }

 private:
  // Bytes with the same history.
  struct Segment {
    uintptr_t end;
    AccessPtr write;
    std::vector<AccessPtr> others;  // reads, the last of each timeline; coarse accesses of all kinds
  };
  using Segments = std::map<uintptr_t, Segment>;
  class Search;

  void split(uintptr_t at);
  // All bytes from `begin` to `end` are written, and nothing older counts any more.
  void write(const AccessPtr& access, uintptr_t begin, uintptr_t end, Search& search);
  // History of the bytes is kept: the access is added to it.
  void touch(const AccessPtr& access, uintptr_t begin, uintptr_t end, Search& search);

  Segments segments_;  // by begin
};

}  // namespace opwright::order
