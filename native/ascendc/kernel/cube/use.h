// native/ascendc/kernel/cube/use.h
// A kernel without a declared type runs on cube cores if its library uses the cube unit, and on both kinds if it uses
// Matmul in mixed form. An instruction says so by naming a constant that registers it when the library is loaded.
#pragma once

#include "core/machine.h"

namespace AscendC::machine {

template <bool Mixed>
struct [[gnu::visibility("hidden")]] CubeUse {
  static const bool noted;
};
template <bool Mixed>
const bool CubeUse<Mixed>::noted = note_use(&CubeUse<Mixed>::noted, true, Mixed);

// Keeps the constant, and with it the registration, without reading it.
template <bool Mixed = false>
OPWRIGHT_INLINE void uses_cube() {
  asm volatile("" : : "r"(&CubeUse<Mixed>::noted));
}

}  // namespace AscendC::machine
