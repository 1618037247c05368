// native/runtime/host_memory.h
// Pinned host memory and host ranges that a caller has registered.
#pragma once

#include <cstddef>

#include "runtime/error.h"

namespace opwright::host_memory {

void* allocate(size_t size);
// Throws 107000 for a pointer that `allocate` did not return.
void release(void* pointer);

void enroll(void* pointer, size_t size);
void withdraw(void* pointer);

// True if the address lies in pinned or registered memory.
bool is_pinned(const void* address);

}  // namespace opwright::host_memory
