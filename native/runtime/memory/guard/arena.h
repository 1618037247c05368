// native/runtime/memory/guard/arena.h
// Address space for windows, in cells far apart. Everything in it is without access rights but the operands of the
// kernels that run. An access elsewhere is noted; its page is filled with the pattern and opened, so that it succeeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/memory/guard/guard.h"

namespace opwright::guard {

// An access outside of every operand.
struct Hit {
  uintptr_t address;
  uintptr_t code;        // the instruction
  int written;           // 1: a write, 0: a read, -1: not known
  const char* function;  // that was running, or nullptr
};

struct Cell;  // arena.cpp

// An operand's place in the arena.
struct Room {
  Cell* cell = nullptr;
  unsigned char* begin = nullptr;  // of the operand
  size_t size = 0;
  unsigned char* first_page = nullptr;
  size_t pages_size = 0;  // bytes with access rights
  Mode mode = Mode::kOff;
};

// The report of a closed room.
struct Closed {
  std::vector<Hit> hits;
  size_t written_outside = 0;  // bytes, in the pages that hits opened
};

// Throws 207001 if the process has no address space left. Answers a room without a cell if the operand is too large or
// all cells are taken. `function` and `operand` are copied.
Room open_room(size_t size, Mode mode, const char* function, const char* operand);
// Takes the access rights away. The address is not used again for as long as there are others.
Closed close_room(const Room& room) noexcept;

// A hit in a cell that no running kernel has: the address was that of an operand before.
struct Stray {
  Hit hit;
  int64_t offset;  // from the start of that operand
  size_t size;     // of that operand
  char function[96];
  char operand[64];
};

// Takes the strays that were noted.
std::vector<Stray> take_strays();

// For the handler of SIGSEGV: true if the access succeeds when it is repeated.
bool let_through(const Hit& hit) noexcept;

// Whether an address lies in the arena.
bool is_in_arena(uintptr_t address) noexcept;

}  // namespace opwright::guard
