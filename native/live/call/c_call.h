// native/live/call/c_call.h
// Calls a C function whose parameter list is known only at run time.
//
// Both supported ABIs pass arguments of the INTEGER class (integers up to 64 bits, pointers, bool, enumerations) in one
// row of registers and those of the floating-point class in another; each class fills its own row in order, and what
// does not fit goes to 8-byte stack slots in the order of the parameters:
//   x86-64: System V ABI, AMD64 Architecture Processor Supplement, section 3.2.3 "Parameter Passing":
//           6 integer registers, 8 SSE registers, "each argument in memory takes a multiple of eightbytes".
//   AArch64 Linux: AAPCS64, section 6.8.2 "Parameter passing rules": 8 general-purpose registers (NGRN), 8 SIMD and
//           floating-point registers (NSRN), the stacked argument address rounded up to 8 for each (C.14, C.16).
// So one call with all registers and enough stack slots serves every signature: a function does not look at registers
// and slots that it has no parameter for, and the caller removes the slots.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace opwright::live {

#if defined(__x86_64__) && defined(__linux__)
inline constexpr size_t kIntegerRegisters = 6;
#elif defined(__aarch64__) && defined(__linux__)
inline constexpr size_t kIntegerRegisters = 8;
#else
#error "native/live/call/c_call.h knows the System V ABI for x86-64 and AAPCS64 on Linux only"
#endif
inline constexpr size_t kRealRegisters = 8;
static_assert(sizeof(void*) == 8 && sizeof(double) == 8 && sizeof(float) == 4, "an ILP32 variant passes otherwise");

class CCall {
 public:
  static constexpr size_t kStackSlots = 64;

  // Appends an argument of the integer class; a narrower type extended to 64 bits. False if there is no slot left.
  bool add(uint64_t value) noexcept {
    if (integers_ == kIntegerRegisters) return stack(value);
    integer_[integers_++] = value;
    return true;
  }
  bool add(const void* pointer) noexcept { return add(reinterpret_cast<uint64_t>(pointer)); }
  bool add(double value) noexcept { return add_real(&value, sizeof value); }
  // Not promoted: it is in the low half of the register or slot.
  bool add(float value) noexcept { return add_real(&value, sizeof value); }
  template <class Other>
  bool add(Other) = delete;  // no silent conversion to another class

  // Calls a function that returns int.
  int operator()(void* function) const noexcept(false);

 private:
  bool stack(uint64_t value) noexcept {
    if (slots_ == kStackSlots) return false;
    slot_[slots_++] = value;
    return true;
  }
  bool add_real(const void* bytes, size_t size) noexcept {
    uint64_t word = 0;
    std::memcpy(&word, bytes, size);  // both ABIs are little-endian on Linux
    if (reals_ == kRealRegisters) return stack(word);
    std::memcpy(&real_[reals_++], &word, sizeof word);
    return true;
  }

  size_t integers_ = 0, reals_ = 0, slots_ = 0;
  std::array<uint64_t, kIntegerRegisters> integer_{};
  std::array<double, kRealRegisters> real_{};
  std::array<uint64_t, kStackSlots> slot_{};
};

}  // namespace opwright::live
