// native/runtime/memory/access.h
// Whether an access that failed was a write.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <cstring>

namespace opwright {

enum class Access { kUnknown = -1, kRead, kWrite };

// Of an instruction of AArch64: Arm Architecture Reference Manual, A-profile, "A64 instruction set encoding", the
// groups "Loads and Stores" and "SVE encodings". An instruction that does both, such as an
// atomic operation, counts as a write.
constexpr Access access_of_aarch64(uint32_t instruction) {
  const auto bits = [instruction](int high, int low) { return instruction >> low & ((1u << (high - low + 1)) - 1); };
  const auto write_if = [](bool condition) { return condition ? Access::kWrite : Access::kRead; };
  constexpr uint32_t kSve = 0b0010;
  if (bits(28, 25) == kSve) return bits(31, 31) == 0 ? Access::kUnknown : write_if(bits(31, 29) == 0b111);
  if (bits(27, 27) == 0 || bits(25, 25) == 1) return Access::kUnknown;
  const bool loads = bits(22, 22) == 1;  // of most groups
  switch (bits(29, 28)) {
    case 0b00: {  // exclusive and ordered; vectors with a structure
      // CAS has bit 23; CASP has the encoding of a pair (bit 21) with a size that LDXP and STXP do not have (bit 31).
      const bool compares_and_swaps =
          bits(26, 26) == 0 && bits(21, 21) == 1 && (bits(23, 23) == 1 || bits(31, 31) == 0);
      return write_if(compares_and_swaps || !loads);
    }
    case 0b01:  // literals, which are read
      return bits(24, 24) == 0 ? Access::kRead : Access::kUnknown;
    case 0b10:  // pairs
      return write_if(!loads);
    default: {
      const bool has_offset_in_place = bits(24, 24) == 1;
      if (!has_offset_in_place && bits(21, 21) == 1 && bits(10, 10) == 1) return Access::kRead;  // authenticated
      if (!has_offset_in_place && bits(21, 21) == 1 && bits(11, 10) == 0) {
        constexpr uint32_t kAcquire = 0b1100;  // LDAPR, among the atomic operations
        return write_if(bits(15, 12) != kAcquire);
      }
      const bool is_vector = bits(26, 26) == 1;
      return write_if(is_vector ? !loads : bits(23, 22) == 0);
    }
  }
}

// Of the instruction that a signal's context points to.
inline Access access_of(const mcontext_t& machine) noexcept {
#if defined(__x86_64__)
  constexpr greg_t kWrite = 2;  // of the page fault's error code
  return (machine.gregs[REG_ERR] & kWrite) != 0 ? Access::kWrite : Access::kRead;
#elif defined(__aarch64__)
  uint32_t instruction = 0;
  std::memcpy(&instruction, reinterpret_cast<const void*>(machine.pc), sizeof instruction);
  return access_of_aarch64(instruction);
#else
  return Access::kUnknown;
#endif
}

}  // namespace opwright
