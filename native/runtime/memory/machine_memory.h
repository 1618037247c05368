// native/runtime/memory/machine_memory.h
// The memory that the machine has for this process: the smaller of the system's and what its control groups allow.
#pragma once

#include <cstdint>

namespace opwright {

// All of it, whether in use or not.
uint64_t machine_memory();
// The bytes that can still be written before the system has to end a process. Caches that it can give up count as free.
uint64_t available_machine_memory();

}  // namespace opwright
