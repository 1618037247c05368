// native/runtime/memory/memory.h
// Device memory. The addresses that callers see lie in a window without access rights; kernels and copies use an alias
// at a fixed distance. Host code that dereferences a device address therefore faults, as on hardware, and the isolation
// costs nothing per call.
//
//   front window (what aclrtMalloc returns)   device 0 | device 1 | …     no access
//   alias window (front + distance)           device 0 | device 1 | …     read and write
//
// In each device's part the first `device_memory` bytes serve aclrtMalloc; the rest is address space for
// aclrtReserveMemAddress (virtual_memory.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/error.h"

namespace opwright::memory {

constexpr size_t kAlignment = 512;         // of an allocation's size; it begins at a page, as CANN's do
constexpr size_t kGranularity = 2u << 20;  // of physical blocks and address reservations

// Allocates `size` bytes (rounded up to the alignment) on a device. Throws 207001 when the device's limit is reached.
OPWRIGHT_API void* allocate(int device, size_t size);
// Throws 107000 for an address that is not the start of a live allocation.
OPWRIGHT_API void release(void* address);
// Drops every allocation of the device.
OPWRIGHT_API void release_all(int device);

// How often memory of any device was freed or unmapped. As long as it stays the same, what was allocated still is.
OPWRIGHT_API uint64_t releases() noexcept;
void note_release() noexcept;
// Of the next range of memory that somebody gets; never 0.
uint64_t next_serial() noexcept;
// The serial number of the allocation or mapping that the address lies in; 0 if there is none. Memory that was freed
// and allocated again has another one.
OPWRIGHT_API uint64_t serial_of(const void* address);

OPWRIGHT_API size_t used_bytes(int device);
OPWRIGHT_API size_t peak_bytes(int device);
OPWRIGHT_API size_t total_bytes();

// True if the address lies in any device's window, live or not.
OPWRIGHT_API bool is_device_address(const void* address) noexcept;
// Device of an address for which is_device_address holds.
OPWRIGHT_API int device_of(const void* address) noexcept;
// Where the host reaches a device address. Pure arithmetic: check the range first.
OPWRIGHT_API void* alias_of(const void* address) noexcept;

// The alias of [address, address + size), checked to lie in one live allocation or mapping.
// Throws `code` with a text that starts with `what`.
OPWRIGHT_API void* checked_alias(const void* address, size_t size, const char* what,
                                 int code = ACL_ERROR_RT_PARAM_INVALID);

// While it is allowed, the functions above that give an alias take host memory as it is, in the calling thread. Returns
// what was set before.
OPWRIGHT_API bool allow_host_operands(bool allowed) noexcept;

// One line about an address for error and fault messages: which device, which allocation, freed or never allocated.
OPWRIGHT_API std::string describe(const void* address);

}  // namespace opwright::memory
