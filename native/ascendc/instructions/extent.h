// native/ascendc/instructions/extent.h
// Which lanes of which repeats an instruction computes, worked out from its call and the mask registers, and what of an
// operand that covers.
#pragma once

#include <bit>
#include <cstdint>

#include "vector/lanes.h"

namespace AscendC::machine::vector {

// The lanes of one repeat that take part, a bit each.
struct Active {
  uint64_t low;
  uint64_t high;

  static constexpr uint64_t ones(uint32_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }
  static constexpr Active first(uint32_t count) { return {ones(count), count > 64 ? ones(count - 64) : 0}; }

  constexpr bool lane(uint32_t index) const { return (index < 64 ? low >> index : high >> (index - 64)) & 1; }
  constexpr bool none() const { return (low | high) == 0; }
  // One more than the highest lane.
  constexpr uint32_t top() const {
    return static_cast<uint32_t>(high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(low));
  }
  constexpr bool is_prefix() const {
    const Active prefix = first(top());
    return prefix.low == low && prefix.high == high;
  }
};

struct Extent {
  bool is_contiguous;  // the first `count` elements; there are no repeats
  bool full;           // all lanes of all repeats, but for a prefix of the last one
  uint32_t repeats;
  uint32_t per_repeat;  // lanes
  uint64_t count;       // lanes of all repeats, if full
  Active each;          // of all repeats but the last
  Active last;

  bool empty() const { return is_contiguous ? count == 0 : repeats == 0 || (each.none() && last.none()); }
  const Active& of_repeat(uint32_t repeat) const { return repeat + 1 == repeats ? last : each; }
};

// The lanes of a call. In counter mode a mask counts elements and the number of repeats follows from it.
Extent resolve(const Lanes& lanes, uint32_t per_repeat);

// Refuses an operand that does not lie in local memory, and reports to the checks what is read or written.
void touch(Instruction& instruction, const char* api, const Operand& operand, const Extent& extent, bool write);

// The same for `bytes` bytes at an address.
void touch(Instruction& instruction, const char* api, const char* operand, const void* base, uint64_t bytes, bool write,
           uint32_t alignment = kBlockBytes);

// Whether inf becomes the largest number and NaN 0: CTRL[48] is 0.
inline bool saturates(const Registers& registers) { return (registers.control >> 48 & 1) == 0; }

}  // namespace AscendC::machine::vector
