// native/runtime/host_memory.h
// Pinned host memory and host ranges that a caller has registered.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/error.h"

namespace opwright::host_memory {

void* allocate(size_t size);
// Throws 107000 for a pointer that `allocate` did not return.
void release(void* pointer);

void enroll(void* pointer, size_t size);
void withdraw(void* pointer);

// The serial number of the pinned or registered range that the address lies in, as memory::serial_of; 0 if there is
// none.
uint64_t serial_of(const void* address);

// True if the address lies in pinned or registered memory.
bool is_pinned(const void* address);

}  // namespace opwright::host_memory
