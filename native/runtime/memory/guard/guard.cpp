// native/runtime/memory/guard/guard.cpp
#include "runtime/memory/guard/guard.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "runtime/settings.h"

namespace opwright::guard {
namespace {

// Two bytes that repeat, by the parity of the address.
struct Pattern {
  unsigned char even;
  unsigned char odd;
};

constexpr Pattern kNothing{0, 0};
constexpr Pattern kNan{0xF5, 0xFF};     // 0xFFF5: NaN as float16, bfloat16, float32 and float64; -11, -655371 …
constexpr Pattern kNumber{0x2B, 0x41};  // 0x412B: 10.7 as float32, 2.58 as float16; 16683 as int16

constexpr Pattern pattern_of(Mode mode) {
  return mode == Mode::kEnd ? kNan : mode == Mode::kStart ? kNumber : kNothing;
}

// glibc fills what malloc gives with the complement of this byte, and what free gets with the byte.
void perturb_malloc(Mode mode) noexcept {
#if defined(M_PERTURB)
  mallopt(M_PERTURB, static_cast<unsigned char>(~pattern_of(mode).even));
#else
  (void)mode;
#endif
}

std::atomic<Mode>& current() noexcept {
  static std::atomic<Mode> instance = [] {
    const auto chosen = static_cast<Mode>(guard_setting());
    if (chosen != Mode::kOff) perturb_malloc(chosen);
    return chosen;
  }();
  return instance;
}

unsigned char expected(const Pattern& pattern, uintptr_t address) noexcept {
  return address % 2 == 0 ? pattern.even : pattern.odd;
}

}  // namespace

bool enabled() noexcept {
  static const bool answer = current().load() != Mode::kOff;
  return answer;
}

Mode mode() noexcept { return current().load(std::memory_order_relaxed); }

void set_mode(Mode mode) {
  require(enabled(), ACL_ERROR_INVALID_PARAM, "memory is not guarded; start the process with OPWRIGHT_GUARD=1");
  require(mode == Mode::kEnd || mode == Mode::kStart, ACL_ERROR_INVALID_PARAM, "mode ", static_cast<int>(mode),
          " of guarded memory cannot be used; allowed: 1, 2");
  current().store(mode);
  perturb_malloc(mode);
}

void fill(void* begin, size_t size, Mode mode) noexcept {
  const Pattern pattern = pattern_of(mode);
  auto* const bytes = static_cast<unsigned char*>(begin);
  const auto address = reinterpret_cast<uintptr_t>(begin);
  for (size_t i = 0; i < std::min<size_t>(size, 2); ++i) bytes[i] = expected(pattern, address + i);
  for (size_t done = 2; done < size; done *= 2) std::memcpy(bytes + done, bytes, std::min(done, size - done));
}

Changed changed_in(const void* begin, size_t size, Mode mode) noexcept {
  const Pattern pattern = pattern_of(mode);
  const auto* const bytes = static_cast<const unsigned char*>(begin);
  const auto address = reinterpret_cast<uintptr_t>(begin);
  Changed result;
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i] == expected(pattern, address + i)) continue;
    if (result.count++ == 0) result.first = bytes + i;
  }
  return result;
}

}  // namespace opwright::guard
