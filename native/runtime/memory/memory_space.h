// native/runtime/memory/memory_space.h
// The two windows of memory.h and what lies in each device's part of them. Shared by memory.cpp and virtual_memory.cpp.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "runtime/memory/free_list.h"
#include "runtime/memory/memory.h"

namespace opwright::memory {

struct Physical;  // virtual_memory.cpp

// Serial numbers distinguish memory from other memory that came to lie at the same address later.
struct Allocation {
  size_t bytes;      // that count against the device's limit
  size_t reachable;  // bytes that a caller may use, some more than it asked for; see reachable_bytes
  uint64_t serial;
};

// A physical block, or a part of it, in a reserved range.
struct Mapping {
  size_t bytes;
  std::shared_ptr<Physical> block;
  uint64_t serial;
};

// One device's part of the windows. The mutex guards everything in it.
struct DeviceMemory {
  DeviceMemory(uintptr_t begin, size_t heap_size, size_t window)
      : heap(begin, heap_size), addresses(begin + heap_size, window - heap_size) {}

  mutable std::shared_mutex mutex;
  FreeList heap;
  FreeList addresses;
  std::map<uintptr_t, Allocation> allocations;  // aclrtMalloc, by begin
  std::map<uintptr_t, size_t> reservations;     // aclrtReserveMemAddress
  std::map<uintptr_t, Mapping> mappings;        // aclrtMapMem
  size_t used = 0;
  size_t peak = 0;

  void charge(size_t size) {
    used += size;
    peak = std::max(peak, used);
  }
};

// The last entry that begins at or before `address`, or end().
template <class Value>
auto entry_at(const std::map<uintptr_t, Value>& entries, uintptr_t address) {
  auto it = entries.upper_bound(address);
  return it == entries.begin() ? entries.end() : std::prev(it);
}

// The entry that `address` lies in, or end().
template <class Value>
auto entry_around(const std::map<uintptr_t, Value>& entries, uintptr_t address) {
  const auto it = entry_at(entries, address);
  return it != entries.end() && address < it->first + it->second.bytes ? it : entries.end();
}

// Both windows. The addresses that its functions take lie in the front one.
class Space {
 public:
  Space();

  size_t memory() const { return memory_; }
  uintptr_t base() const noexcept { return base_; }
  DeviceMemory& device(int id) {
    require(id >= 0 && static_cast<size_t>(id) < devices_.size(), ACL_ERROR_RT_INVALID_DEVICEID, "device index ", id,
            " is out of range; this process has ", devices_.size(), " device(s)");
    return *devices_[static_cast<size_t>(id)];
  }
  bool contains(uintptr_t address) const noexcept { return address - base_ < distance_; }
  int device_of(uintptr_t address) const noexcept { return static_cast<int>((address - base_) / window_); }
  void* alias(uintptr_t address) const noexcept { return reinterpret_cast<void*>(address + distance_); }
  // Where the host reaches what aclrtMalloc gives: without a guard always readable and writable.
  bool is_heap_alias(uintptr_t address) const noexcept {
    return contains(address - distance_) && (address - distance_ - base_) % window_ < heap_size();
  }
  DeviceMemory& owner(uintptr_t address) { return *devices_[static_cast<size_t>(device_of(address))]; }

 private:
  // Addresses of aclrtMalloc. An allocation may take more of them than the bytes that count: whole pages, what is
  // reachable behind it, and a gap before it.
  size_t heap_size() const noexcept { return 2 * memory_; }

  size_t memory_;
  size_t window_ = 0;
  size_t distance_ = 0;
  uintptr_t base_ = 0;
  std::vector<std::unique_ptr<DeviceMemory>> devices_;
};

inline Space& space() {
  static Space* const instance = new Space();  // device addresses stay valid in static destructors
  return *instance;
}

// The unit of allocations in the heap: no page is part of two, so that one of them can be shared or given back.
inline size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
inline size_t whole_pages(size_t bytes) { return round_up(bytes, page_bytes()); }

inline uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

// checked_alias (memory.h) for copies and fills, which may use what an allocation has more than it was asked for. An
// operand has to lie within what was asked for: one that does not is a mistake of its caller.
void* reachable_alias(const void* address, size_t size, const char* what);

// Throws 207001: `size` bytes more than the device has.
[[noreturn]] void over_limit(int device, size_t size, const DeviceMemory& state);

}  // namespace opwright::memory
