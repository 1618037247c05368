// native/runtime/shared_memory.h
// Device memory that several processes use (aclrtIpcMem*). What aclrtMalloc gives is this process's own: when a range
// is exported its pages are put into a memfd in their place, and another process maps that memfd, which it opens
// through /proc/<pid>/fd. So an exporter has to live until its key was imported; what was imported stays when it has
// ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/error.h"

namespace opwright::memory {

// A name for [address, address + size), which begins where an allocation does. Waits until the device's streams pause.
std::string export_key(void* address, size_t size);
// The exported range as memory of `device`.
void* import_key(const std::string& key, int device);
// Takes an import back, or lets an exported range go; what others have imported stays.
void close_key(const std::string& key);

// The same for physical blocks (virtual_memory.h).
uint64_t export_physical(void* handle);
void* import_physical(uint64_t shared, int device);

// An allocation is freed: its pages are this process's own again. Called with the device's lock.
void end_sharing(uintptr_t begin, size_t bytes);

}  // namespace opwright::memory
