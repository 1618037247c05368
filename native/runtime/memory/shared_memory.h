// native/runtime/memory/shared_memory.h
// Device memory that several processes use (aclrtIpcMem*). What aclrtMalloc gives is this process's own: when it is
// exported its pages are put into a file (shared_file.h) in their place, and another process maps that file. So an
// exporter has to live until its key was imported; what was imported stays when it has ended.
//
// Tasks and copies may go on during an export: a write to a page that is on its way into the file faults, and is tried
// again (fault.cpp). Only a system call that writes there (read, recv in a callback of the program) answers EFAULT.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/error.h"

namespace opwright::memory {

// A name for [address, address + size), which begins where an allocation does.
std::string export_key(void* address, size_t size);
// The exported range as memory of `device`.
void* import_key(const std::string& key, int device);
// The device that an import of this process lies on.
std::optional<int> device_of_import(const std::string& key);
// Takes an import back, or lets an exported range go; what others have imported stays.
void close_key(const std::string& key);
// Throws 107000 unless this process has exported it.
void require_exported(const std::string& key);

// The same for physical blocks (virtual_memory.h).
uint64_t export_physical(void* handle);
void* import_physical(uint64_t shared);
void require_exported(uint64_t shared);

// An allocation is freed: its pages are this process's own again. Called with the device's lock; throws before anything
// has changed.
void end_sharing(uintptr_t begin, size_t bytes);

// For the fault handler: a write to an address where the host reaches device memory can only have faulted because an
// export was under way. It shall be tried again.
bool is_moving(const void* address) noexcept;

}  // namespace opwright::memory
