// native/runtime/memory/virtual_memory.h
// Virtual memory management (aclrtReserveMemAddress and relatives): address ranges of a device, and physical blocks of
// memory (a memfd each) that are mapped into them. Mapped memory counts against the device's limit.
#pragma once

#include <cstddef>

#include "runtime/error.h"
#include "runtime/memory/shared_file.h"

namespace opwright::memory {

void* reserve(int device, size_t size, size_t alignment);
void unreserve(void* address);
void* create_physical(int device, size_t size);
void destroy_physical(void* handle);
// Of all blocks that count against a device's limit.
size_t written_bytes_of_blocks();
// A block of memory that belongs to another process, or to the host: nothing is counted.
void* adopt_physical(SharedFile file);
FileName file_of_physical(void* handle);
// True if a live block is that file.
bool has_physical(const FileName& file);
// All of a file at an address of its own, and back.
void* map_file(int device, SharedFile file);
void unmap_file(void* address);
void map(void* address, size_t size, size_t offset, void* handle);
void unmap(void* address);
// Throws 107000 unless a mapping of that size begins there.
void require_mapping(const void* address, size_t size);

}  // namespace opwright::memory
