// native/runtime/memory/host_memory.h
// Pinned host memory and host ranges that a caller has registered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/error.h"

namespace opwright::host_memory {

void* allocate(size_t size);
// Throws 107000 for a pointer that `allocate` did not return, and for memory that is registered.
void release(void* pointer);

// Registers a range, which may lie in memory that `allocate` returned.
void enroll(void* pointer, size_t size);
// The same; the range, whole pages, is memory of the device as well, at the address that it returns: the pages are put
// into a file, which is mapped at both places. Nobody may write to the range meanwhile.
void* enroll_on(int device, void* pointer, size_t size);
// Where the device has the range that was registered there: the first question maps one that `enroll` registered, as
// `enroll_on` does.
void* device_address_of(int device, void* pointer);
// The device that a registered range is memory of.
std::optional<int> device_of(void* pointer);
void withdraw(void* pointer);

// The serial number of the pinned or registered range that the address lies in, as memory::serial_of; 0 if there is
// none.
uint64_t serial_of(const void* address);

// Where the twin reaches an address of the host: the same address, unless the order of accesses is checked. Then the
// owner of pinned memory may have no rights to it, and the twin has a view of its own.
void* twins_view_of(const void* address);

// True if the address lies in pinned or registered memory.
bool is_pinned(const void* address);

}  // namespace opwright::host_memory
