// native/ascendc/runtime/global_memory.h
// Global memory as a kernel may touch it.
#pragma once

#include <cstdint>
#include <string>

namespace AscendC::machine {

// The meaning of an address: which local memory, which allocation, or none.
std::string describe_address(const void* address);

}  // namespace AscendC::machine
