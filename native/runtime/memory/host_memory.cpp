// native/runtime/memory/host_memory.cpp
#include "runtime/memory/host_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "runtime/memory/memory.h"
#include "runtime/memory/memory_space.h"
#include "runtime/memory/shared_file.h"
#include "runtime/memory/two_views.h"
#include "runtime/memory/virtual_memory.h"
#include "runtime/order/host_accesses.h"
#include "runtime/order/order.h"

namespace opwright::host_memory {
namespace {

using memory::number;

constexpr size_t kPinnedAlignment = 4096;

struct Range {
  size_t bytes;
  void* on_device = nullptr;  // the same pages as memory of a device
  uint64_t serial = memory::next_serial();
  std::shared_ptr<memory::TwoViews> views = nullptr;  // of pinned memory, where the order of accesses is checked
};

using ByBegin = std::map<uintptr_t, Range>;

struct Ranges {
  std::shared_mutex mutex;
  ByBegin allocated;
  ByBegin registered;
  std::vector<std::shared_ptr<memory::TwoViews>> kept;  // freed beside a task that still reaches it
};

Ranges& ranges() {
  static Ranges* const instance = new Ranges();
  return *instance;
}

ByBegin::iterator find(ByBegin& among, void* pointer, const char* made_by) {
  const auto it = among.find(number(pointer));
  require(it != among.end(), ACL_ERROR_RT_PARAM_INVALID, pointer, " does not come from ", made_by,
          ", or was given back already");
  return it;
}

void enroll_locked(void* pointer, const Range& range) {
  require(pointer != nullptr && range.bytes > 0, ACL_ERROR_RT_PARAM_INVALID, "cannot register ", range.bytes,
          " bytes at ", pointer);
  const bool added = ranges().registered.emplace(number(pointer), range).second;
  require(added, ACL_ERROR_RT_PARAM_INVALID, "host memory at ", pointer, " is registered already");
}

// The pages are the process's own again; what they hold stays.
void take_back(void* pointer, const Range& range) {
  void* const own = mmap(nullptr, range.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(own != MAP_FAILED, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot provide ", range.bytes,
          " bytes: ", std::strerror(errno));
  std::memcpy(own, pointer, range.bytes);
  void* const moved = mremap(own, range.bytes, range.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, pointer);
  require(moved == pointer, ACL_ERROR_INTERNAL_ERROR, "the host cannot move ", range.bytes,
          " bytes: ", std::strerror(errno));
  memory::unmap_file(range.on_device);
}

void* allocate_watched(Range& range) {
  range.views = std::make_shared<memory::TwoViews>(range.bytes);
  order::watch(number(range.views->of_owner()), range.views->bytes());
  return range.views->of_owner();
}

void* allocate_aligned(size_t size) {
  void* pointer = nullptr;
  require(posix_memalign(&pointer, kPinnedAlignment, size) == 0, ACL_ERROR_RT_MEMORY_ALLOCATION, "Failed to allocate ",
          size, " bytes of pinned host memory");
  return pointer;
}

// The caller holds the mutex.
void join_views(void* pointer) {
  const auto it = memory::entry_around(ranges().allocated, number(pointer));
  if (it == ranges().allocated.end() || it->second.views == nullptr) return;
  order::unwatch(it->first);
  it->second.views->join();
}

void require_pages(void* pointer, size_t size) {
  require(number(pointer) % memory::page_bytes() == 0 && size % memory::page_bytes() == 0, ACL_ERROR_RT_PARAM_INVALID,
          size, " bytes at ", pointer, " are not whole pages of ", memory::page_bytes(), " bytes");
}

// Puts the pages into a file that is memory of the device as well. The caller holds the mutex.
void* map_on(int device, void* pointer, Range& range) {
  join_views(pointer);
  memory::SharedFile file(memory::round_up(range.bytes, memory::kGranularity));
  file.take_place_of(pointer, range.bytes);
  return range.on_device = memory::map_file(device, std::move(file));
}

// Whether a task still uses memory that is about to be freed; known only while the order of accesses is checked.
bool is_in_use(void* pointer) {
  if (!order::enabled()) return false;
  size_t bytes = 0;
  {
    const std::shared_lock<std::shared_mutex> lock(ranges().mutex);
    const auto it = ranges().allocated.find(number(pointer));
    if (it != ranges().allocated.end()) bytes = it->second.bytes;
  }
  return order::note_host_access("aclrtFreeHost", {pointer, bytes, /*read=*/false, /*written=*/true, "hostPtr"});
}

void release_range(void* pointer, const Range& range) {
  if (range.views == nullptr) return std::free(pointer);
  order::forget(pointer, range.views->bytes());
  order::unwatch(number(pointer));
}

uint64_t serial_in(const ByBegin& ranges, uintptr_t value) {
  const auto it = memory::entry_around(ranges, value);
  return it != ranges.end() ? it->second.serial : 0;
}

}  // namespace

void* allocate(size_t size) {
  require(size > 0, ACL_ERROR_RT_PARAM_INVALID, "cannot allocate 0 bytes");
  Range range{size};
  void* const pointer = order::enabled() ? allocate_watched(range) : allocate_aligned(size);
  const std::unique_lock<std::shared_mutex> lock(ranges().mutex);
  ranges().allocated.emplace(number(pointer), std::move(range));
  return pointer;
}

void release(void* pointer) {
  const bool stays = is_in_use(pointer);
  Range range{};
  {
    const std::unique_lock<std::shared_mutex> lock(ranges().mutex);
    const auto it = find(ranges().allocated, pointer, "aclrtMallocHost");
    require(ranges().registered.count(number(pointer)) == 0, ACL_ERROR_RT_PARAM_INVALID, pointer,
            " is still registered; call aclrtHostUnregister first");
    memory::note_release();
    range = std::move(it->second);
    if (stays) ranges().kept.push_back(range.views);
    ranges().allocated.erase(it);
  }
  release_range(pointer, range);
}

void enroll(void* pointer, size_t size) {
  const std::unique_lock<std::shared_mutex> lock(ranges().mutex);
  enroll_locked(pointer, {size});
}

void* enroll_on(int device, void* pointer, size_t size) {
  require_pages(pointer, size);
  const std::unique_lock<std::shared_mutex> lock(ranges().mutex);
  enroll_locked(pointer, {size});
  try {
    return map_on(device, pointer, ranges().registered.at(number(pointer)));
  } catch (const Error&) {
    ranges().registered.erase(number(pointer));
    throw;
  }
}

void* device_address_of(int device, void* pointer) {
  const std::unique_lock<std::shared_mutex> lock(ranges().mutex);
  Range& range = find(ranges().registered, pointer, "aclrtHostRegister")->second;
  if (range.on_device != nullptr) return range.on_device;
  require_pages(pointer, range.bytes);
  return map_on(device, pointer, range);
}

std::optional<int> device_of(void* pointer) {
  const std::shared_lock<std::shared_mutex> lock(ranges().mutex);
  const auto it = ranges().registered.find(number(pointer));
  if (it == ranges().registered.end() || it->second.on_device == nullptr) return std::nullopt;
  return memory::device_of(it->second.on_device);
}

void withdraw(void* pointer) {
  const std::unique_lock<std::shared_mutex> lock(ranges().mutex);
  const auto it = find(ranges().registered, pointer, "aclrtHostRegister");
  if (it->second.on_device != nullptr) take_back(pointer, it->second);
  memory::note_release();
  ranges().registered.erase(it);
}

bool is_pinned(const void* address) { return serial_of(address) != 0; }

void* twins_view_of(const void* address) {
  if (order::enabled()) {
    const std::shared_lock<std::shared_mutex> lock(ranges().mutex);
    const auto it = memory::entry_around(ranges().allocated, number(address));
    if (it != ranges().allocated.end() && it->second.views != nullptr) {
      return static_cast<char*>(it->second.views->of_twin()) + (number(address) - it->first);
    }
  }
  return const_cast<void*>(address);
}

uint64_t serial_of(const void* address) {
  const std::shared_lock<std::shared_mutex> lock(ranges().mutex);
  const uint64_t allocated = serial_in(ranges().allocated, number(address));
  return allocated != 0 ? allocated : serial_in(ranges().registered, number(address));
}

}  // namespace opwright::host_memory
