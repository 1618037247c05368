// native/ascendc/kernel/core/builtins.h
// Functions of single numbers that the device's C++ has without an #include or a namespace.
#pragma once

// C++'s, not C's: with them abs and sqrt of a float are floats.
#include <math.h>
#include <stdlib.h>

#include <type_traits>

#include "core/types.h"

// Macros of the device's compiler.
#ifndef likely
#define likely(condition) __builtin_expect(!!(condition), 1)
#endif
#ifndef unlikely
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#endif

// A kernel's own min and max, or std's, fit better than these and are taken.
template <class A, class B>
OPWRIGHT_INLINE constexpr std::common_type_t<A, B> min(A a, B b) {
  using Common = std::common_type_t<A, B>;
  return static_cast<Common>(b) < static_cast<Common>(a) ? static_cast<Common>(b) : static_cast<Common>(a);
}
template <class A, class B>
OPWRIGHT_INLINE constexpr std::common_type_t<A, B> max(A a, B b) {
  using Common = std::common_type_t<A, B>;
  return static_cast<Common>(a) < static_cast<Common>(b) ? static_cast<Common>(b) : static_cast<Common>(a);
}
