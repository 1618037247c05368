// native/ascendc/runtime/checks/local_shadow.h
// The checks' knowledge of each byte of a core's memories: which instructions touched it last, and whether it holds
// something. A cell covers four bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ascendc/runtime/checks/clocks.h"
#include "core/machine.h"

namespace AscendC::machine {

// An instruction: the pipe and its number there. 0 is none.
class Moment {
 public:
  constexpr Moment() = default;
  constexpr Moment(Pipe pipe, uint32_t number) : bits_(static_cast<uint32_t>(pipe) << 29 | number) {}
  constexpr Pipe pipe() const { return static_cast<Pipe>(bits_ >> 29); }
  constexpr uint32_t number() const { return bits_ & 0x1FFFFFFFu; }
  constexpr bool exists() const { return bits_ != 0; }
  // Whether it is done for a pipe with this clock.
  constexpr bool before(const PipeClock& clock) const { return number() <= clock[static_cast<size_t>(pipe())]; }

 private:
  uint32_t bits_ = 0;
};

// A touch of bytes that an earlier one may still be busy with.
struct Conflict {
  Moment earlier;
  bool earlier_wrote;
  uint32_t offset;  // in the memory
};

class LocalShadow {
 public:
  // Notes an access by `now`, and returns the first conflict with one that is not done for `clock`. Pipe kScalar is
  // ordered with the others by the compiler: its conflicts only make `clock` wait.
  std::optional<Conflict> touch(Memory memory, uint32_t offset, uint32_t bytes, bool write, Moment now,
                                PipeClock& clock);

  void define(Memory memory, uint32_t offset, uint32_t bytes, bool defined);
  // The first byte of a range that nobody has written; `bytes` if all of them hold something.
  uint32_t first_undefined(Memory memory, uint32_t offset, uint32_t bytes);
  // The first byte from there that holds something; `bytes` if none does.
  uint32_t first_defined(Memory memory, uint32_t offset, uint32_t bytes);

 private:
  struct Cell {
    Moment writer;
    std::array<Moment, 2> readers;  // of different pipes
  };
  struct Shadow {
    std::vector<Cell> cells;
    std::vector<uint8_t> defined;
  };

  Shadow& of(Memory memory);
  static void note_reader(Cell& cell, Moment now, const PipeClock& clock);

  std::array<Shadow, kMemories> shadows_;
};

}  // namespace AscendC::machine
