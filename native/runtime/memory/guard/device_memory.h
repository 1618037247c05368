// native/runtime/memory/guard/device_memory.h
// Guarded device memory: an allocation lies between two guard pages and ends at the second one, as far as its alignment
// allows. What is freed has no access rights and is not given out again for a while.
#pragma once

#include <optional>
#include <string>

#include "runtime/memory/memory_space.h"

namespace opwright::guard {

// Device addresses of `bytes` (a multiple of the alignment), filled with the pattern; 0 if there is no room. `size` is
// what was asked for. The caller holds the device's mutex, here and below.
uintptr_t take(memory::DeviceMemory& device, size_t size, size_t bytes);
void give(memory::DeviceMemory& device, uintptr_t begin);

// About an address that was freed: "12 bytes into an allocation of 512 bytes that was freed".
std::optional<std::string> freed(uintptr_t address);

// Reports allocations whose padding was written. Takes the devices' mutexes.
void check_padding();

}  // namespace opwright::guard
