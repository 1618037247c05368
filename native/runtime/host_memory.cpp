// native/runtime/host_memory.cpp
#include "runtime/host_memory.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "runtime/memory.h"

namespace opwright::host_memory {
namespace {

constexpr size_t kPinnedAlignment = 4096;

enum class Origin { kAllocated, kRegistered };

struct Range {
  size_t size;
  Origin origin;
  uint64_t serial = memory::next_serial();
};

struct Ranges {
  std::shared_mutex mutex;
  std::map<uintptr_t, Range> live;
};

Ranges& ranges() {
  static Ranges* const instance = new Ranges();
  return *instance;
}

void add(void* pointer, Range range) {
  const std::unique_lock<std::shared_mutex> lock(ranges().mutex);
  const bool added = ranges().live.emplace(reinterpret_cast<uintptr_t>(pointer), range).second;
  require(added, ACL_ERROR_RT_PARAM_INVALID, "host memory at ", pointer, " is registered already");
}

void remove(void* pointer, Origin origin, const char* made_by) {
  const std::unique_lock<std::shared_mutex> lock(ranges().mutex);
  const auto it = ranges().live.find(reinterpret_cast<uintptr_t>(pointer));
  require(it != ranges().live.end() && it->second.origin == origin, ACL_ERROR_RT_PARAM_INVALID, pointer,
          " does not come from ", made_by, ", or was given back already");
  memory::note_release();
  ranges().live.erase(it);
}

}  // namespace

void* allocate(size_t size) {
  require(size > 0, ACL_ERROR_RT_PARAM_INVALID, "cannot allocate 0 bytes");
  void* pointer = nullptr;
  require(posix_memalign(&pointer, kPinnedAlignment, size) == 0, ACL_ERROR_RT_MEMORY_ALLOCATION, "Failed to allocate ",
          size, " bytes of pinned host memory");
  add(pointer, {size, Origin::kAllocated});
  return pointer;
}

void release(void* pointer) {
  remove(pointer, Origin::kAllocated, "aclrtMallocHost");
  std::free(pointer);
}

void enroll(void* pointer, size_t size) {
  require(pointer != nullptr && size > 0, ACL_ERROR_RT_PARAM_INVALID, "cannot register ", size, " bytes at ", pointer);
  add(pointer, {size, Origin::kRegistered});
}

void withdraw(void* pointer) { remove(pointer, Origin::kRegistered, "aclrtHostRegister"); }

bool is_pinned(const void* address) { return serial_of(address) != 0; }

uint64_t serial_of(const void* address) {
  const auto value = reinterpret_cast<uintptr_t>(address);
  const std::shared_lock<std::shared_mutex> lock(ranges().mutex);
  const auto it = ranges().live.upper_bound(value);
  if (it == ranges().live.begin()) return 0;
  const auto& [begin, range] = *std::prev(it);
  return value < begin + range.size ? range.serial : 0;
}

}  // namespace opwright::host_memory
