// native/ascendc/instructions/atomic.h
// Updates of global memory by copies: element by element, each with one compare-and-exchange loop.
#pragma once

#include <cstddef>
#include <cstdint>

#include "copy/atomic.h"

namespace AscendC::machine::copy {

// Updates `bytes` bytes at `dst` with those at `src`, as elements of the type that the registers name.
void update(const char* api, std::byte* dst, const std::byte* src, uint32_t bytes);

}  // namespace AscendC::machine::copy
