// native/runtime/memory/memory.cpp
// The allocator, and what an address is.
#include "runtime/memory/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include "runtime/explore/explore.h"
#include "runtime/memory/backing.h"
#include "runtime/memory/guard/device_memory.h"
#include "runtime/memory/guard/guard.h"
#include "runtime/memory/memory_space.h"
#include "runtime/memory/shared_memory.h"
#include "runtime/order/order.h"

namespace opwright::memory {
namespace {

constexpr size_t kReturnToSystem = 256 << 10;  // freed blocks from this size on give their pages back

std::atomic<uint64_t> serials{0};
std::atomic<uint64_t> release_count{0};

// CANN gives a size rounded up to 32 bytes, and 32 bytes more: kernels read whole blocks, also at the end. They do not
// count against the limit, because CANN's block of all of a device's memory has them too.
constexpr size_t kBlock = 32;

thread_local bool host_operands = false;

// Guarded memory ends where the size that was asked for ends, as far as its alignment allows.
size_t reachable_bytes(size_t size, size_t bytes) {
  return guard::enabled() ? bytes : std::max(bytes, round_up(size, kBlock) + kBlock);
}

// Large allocations begin where the system can give them huge pages.
size_t alignment_of(size_t bytes) { return bytes >= kGranularity ? kGranularity : page_bytes(); }

// Where the order is chosen (explore/explore.h), a use of freed memory must not find what it expects there: in most
// formats these bytes are not a number. The rest of a large block reads as zeros: filling it would take memory that the
// block may never have had.
void poison(uintptr_t begin, size_t bytes) {
  constexpr int kFreed = 0xff;
  constexpr size_t kMostFilled = 256 << 20;  // bytes
  std::memset(space().alias(begin), kFreed, std::min(bytes, kMostFilled));
  if (bytes > kMostFilled) madvise(space().alias(begin + kMostFilled), bytes - kMostFilled, MADV_DONTNEED);
}

void release_locked(DeviceMemory& state, std::map<uintptr_t, Allocation>::iterator it) {
  const uintptr_t begin = it->first;
  const size_t bytes = it->second.bytes;
  const size_t pages = whole_pages(it->second.reachable);
  end_sharing(begin, it->second.reachable);
  note_release();
  order::forget(reinterpret_cast<void*>(begin), pages);
  state.used -= bytes;
  state.allocations.erase(it);
  if (guard::enabled()) return guard::give(state, begin);
  if (explore::enabled()) {
    poison(begin, pages);
  } else if (bytes >= kReturnToSystem) {
    madvise(space().alias(begin), pages, MADV_DONTNEED);
  }
  state.heap.give(begin, pages);
}

void* alias_within(size_t Allocation::* extent, const void* address, size_t size, const char* what, int code) {
  if (host_operands && address != nullptr && !is_device_address(address)) return const_cast<void*>(address);
  require(is_device_address(address), code, what, ": ", address, " is not a device address",
          address == nullptr ? " (null)" : " (host memory, or memory of another library)");
  const uintptr_t begin = number(address);
  DeviceMemory& state = space().owner(begin);
  {
    const std::shared_lock<std::shared_mutex> lock(state.mutex);
    const auto allocation = entry_around(state.allocations, begin);
    if (allocation != state.allocations.end() && size <= allocation->first + allocation->second.*extent - begin) {
      return space().alias(begin);
    }
    // Mappings that follow each other without a gap serve as one range (expandable segments grow that way).
    auto mapping = entry_at(state.mappings, begin);
    uintptr_t covered = begin;
    while (mapping != state.mappings.end() && mapping->first <= covered &&
           covered < mapping->first + mapping->second.bytes) {
      covered = mapping->first + mapping->second.bytes;
      if (covered - begin >= size) return space().alias(begin);
      ++mapping;
    }
  }
  fail(code, what, ": the range of ", size, " bytes at ", address, " is not device memory: ", describe(address));
}

}  // namespace

void* allocate(int device, size_t size) {
  require(size > 0, ACL_ERROR_RT_PARAM_INVALID, "cannot allocate 0 bytes");
  DeviceMemory& state = space().device(device);
  if (size <= space().memory()) require_backing(device, size);  // a larger size is refused below
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  if (size > space().memory()) over_limit(device, size, state);
  const size_t bytes = round_up(size, kAlignment);
  if (state.used + bytes > space().memory()) over_limit(device, size, state);
  const size_t reachable = reachable_bytes(size, bytes);
  const uintptr_t begin =
      guard::enabled() ? guard::take(state, size, bytes) : state.heap.take(whole_pages(reachable), alignment_of(bytes));
  if (begin == 0) over_limit(device, size, state);
  state.allocations[begin] = {bytes, reachable, next_serial()};
  state.charge(bytes);
  return reinterpret_cast<void*>(begin);
}

void release(void* address) {
  require(address != nullptr, ACL_ERROR_RT_PARAM_INVALID, "cannot free a null pointer");
  require(is_device_address(address), ACL_ERROR_RT_PARAM_INVALID, "cannot free ", address,
          ": it is not a device address");
  DeviceMemory& state = space().owner(number(address));
  {
    const std::unique_lock<std::shared_mutex> lock(state.mutex);
    const auto it = state.allocations.find(number(address));
    if (it != state.allocations.end()) return release_locked(state, it);
  }
  fail(ACL_ERROR_RT_PARAM_INVALID, "cannot free ", address, ": ", describe(address));
}

void release_all(int device) {
  DeviceMemory& state = space().device(device);
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  while (!state.allocations.empty()) release_locked(state, state.allocations.begin());
}

uint64_t releases() noexcept { return release_count.load(); }
void note_release() noexcept { release_count.fetch_add(1); }
uint64_t next_serial() noexcept { return serials.fetch_add(1) + 1; }

uint64_t serial_of(const void* address) {
  if (!is_device_address(address)) return 0;
  const uintptr_t value = number(address);
  DeviceMemory& state = space().owner(value);
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  const auto allocation = entry_around(state.allocations, value);
  if (allocation != state.allocations.end()) return allocation->second.serial;
  const auto mapping = entry_around(state.mappings, value);
  return mapping != state.mappings.end() ? mapping->second.serial : 0;
}

size_t used_bytes(int device) {
  DeviceMemory& state = space().device(device);
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  return state.used;
}

size_t peak_bytes(int device) {
  DeviceMemory& state = space().device(device);
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  return state.peak;
}

size_t total_bytes() { return space().memory(); }

bool is_device_address(const void* address) noexcept { return space().contains(number(address)); }

int device_of(const void* address) noexcept { return space().device_of(number(address)); }

bool allow_host_operands(bool allowed) noexcept { return std::exchange(host_operands, allowed); }

void* alias_of(const void* address) noexcept {
  if (host_operands && !is_device_address(address)) return const_cast<void*>(address);
  return space().alias(number(address));
}

void* checked_alias(const void* address, size_t size, const char* what, int code) {
  return alias_within(&Allocation::bytes, address, size, what, code);
}

void* reachable_alias(const void* address, size_t size, const char* what) {
  return alias_within(&Allocation::reachable, address, size, what, ACL_ERROR_RT_PARAM_INVALID);
}

std::string describe(const void* address) {
  if (!is_device_address(address)) return "not a device address";
  const uintptr_t value = number(address);
  DeviceMemory& state = space().owner(value);
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  const auto allocation = entry_around(state.allocations, value);
  if (allocation != state.allocations.end()) {
    return text("device ", device_of(address), ", ", value - allocation->first, " bytes into an allocation of ",
                allocation->second.bytes, " bytes");
  }
  const auto mapping = entry_around(state.mappings, value);
  if (mapping != state.mappings.end()) {
    return text("device ", device_of(address), ", ", value - mapping->first, " bytes into a mapped block of ",
                mapping->second.bytes, " bytes");
  }
  if (guard::enabled()) {
    if (const auto known = guard::freed(value)) return text("device ", device_of(address), ", ", *known);
  }
  return text("device ", device_of(address), ", freed or never allocated");
}

}  // namespace opwright::memory
