// native/runtime/virtual_memory.h
// Virtual memory management (aclrtReserveMemAddress and relatives): address ranges of a device, and physical blocks of
// memory (a memfd each) that are mapped into them. Mapped memory counts against the device's limit.
#pragma once

#include <cstddef>

#include "runtime/error.h"

namespace opwright::memory {

void* reserve(int device, size_t size, size_t alignment);
void unreserve(void* address);
void* create_physical(int device, size_t size);
void destroy_physical(void* handle);
// A block of another process, whose memory it stays: `descriptor` is taken over, nothing is counted.
void* adopt_physical(int device, int descriptor, size_t size);
int descriptor_of_physical(void* handle);
void map(void* address, size_t size, size_t offset, void* handle);
void unmap(void* address);

}  // namespace opwright::memory
