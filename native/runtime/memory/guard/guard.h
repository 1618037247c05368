// native/runtime/memory/guard/guard.h
// Guarded memory (OPWRIGHT_GUARD): what a kernel reads and writes outside of its operands, and what it reads that
// nobody has written, is found.
//
// * Each operand of a kernel lies alone, in a window of its own between pages without access rights (windows.h). An
//   access outside is noted and let through to a page of filler, so that the kernel runs on and the next one can be
//   checked; the task then fails with what was noted.
// * Device memory is filled with a pattern when it is allocated, lies between guard pages, and loses its access rights
//   when it is freed (device_memory.h). So does what malloc gives, if the C library has no thread caches
//   (GLIBC_TUNABLES=glibc.malloc.tcache_count=0).
//
// The two modes differ in which end of an operand touches the guard page, and in the pattern: a kernel whose results
// differ reads what it must not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/error.h"

namespace opwright::guard {

enum class Mode : int {
  kOff = 0,
  kEnd = 1,    // operands end at a guard page; NaN in every float format from 16 bits on
  kStart = 2,  // operands start at a guard page; a number
};

// Whether the process was started with it.
OPWRIGHT_API bool enabled() noexcept;
// At present; changes what is allocated and run from now on.
Mode mode() noexcept;
// Throws 100000 unless the process was started with it.
void set_mode(Mode mode);

// Writes the pattern of a mode to a range; byte `i` of it depends on the address, not on where the range begins.
void fill(void* begin, size_t size, Mode mode) noexcept;
// The bytes that are not the pattern's any more.
struct Changed {
  size_t count = 0;
  const unsigned char* first = nullptr;
};
Changed changed_in(const void* begin, size_t size, Mode mode) noexcept;

}  // namespace opwright::guard
