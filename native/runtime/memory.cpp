// native/runtime/memory.cpp
// The two windows, the allocator inside the front one, and physical blocks mapped into reserved addresses.
#include "runtime/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <vector>

#include "runtime/settings.h"

namespace opwright::memory {
namespace {

// Address space of a device per byte of its memory. torch_npu's expandable segments reserve 9/8 of the memory for each
// stream and block size, so the factor bounds how many of them there can be.
constexpr size_t kMostAddressSpace = 32;
constexpr size_t kLeastAddressSpace = 4;
constexpr size_t kAllAddressSpace = size_t{1} << 45;  // both windows of all devices; a process has 2^47 bytes

constexpr size_t kReturnToSystem = 256 << 10;  // freed blocks from this size on give their pages back

size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

// Free ranges of one address range, first fit, neighbours merged.
class FreeList {
 public:
  FreeList(uintptr_t begin, size_t size) { ranges_[begin] = size; }

  // 0 when no range is large enough.
  uintptr_t take(size_t size, size_t alignment) {
    for (auto it = ranges_.begin(); it != ranges_.end(); ++it) {
      const uintptr_t begin = round_up(it->first, alignment);
      const uintptr_t end = it->first + it->second;
      if (begin >= end || end - begin < size) continue;
      const uintptr_t head = it->first;
      ranges_.erase(it);
      if (begin > head) ranges_[head] = begin - head;
      if (begin + size < end) ranges_[begin + size] = end - begin - size;
      return begin;
    }
    return 0;
  }

  void give(uintptr_t begin, size_t size) {
    auto next = ranges_.lower_bound(begin);
    if (next != ranges_.end() && begin + size == next->first) {
      size += next->second;
      next = ranges_.erase(next);
    }
    if (next != ranges_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == begin) {
        previous->second += size;
        return;
      }
    }
    ranges_[begin] = size;
  }

 private:
  std::map<uintptr_t, size_t> ranges_;
};

// A physical block: memory of its own that can be mapped at reserved addresses. Lives until its handle is dropped and
// its last mapping is gone.
struct Physical {
  Physical(int on_device, size_t bytes) : device(on_device), size(bytes) {
    descriptor = memfd_create("opwright-physical", MFD_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
      if (descriptor >= 0) close(descriptor);
      fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot provide a physical block of ", bytes,
           " bytes: ", std::strerror(errno));
    }
  }
  ~Physical() { close(descriptor); }
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  int device;
  size_t size;
  int descriptor;
};

struct Mapping {
  size_t size;
  std::shared_ptr<Physical> block;
};

struct Device {
  Device(uintptr_t begin, size_t memory, size_t window)
      : heap(begin, memory), addresses(begin + memory, window - memory) {}

  mutable std::shared_mutex mutex;
  FreeList heap;
  FreeList addresses;
  std::map<uintptr_t, size_t> allocations;   // aclrtMalloc: begin -> bytes
  std::map<uintptr_t, size_t> reservations;  // aclrtReserveMemAddress
  std::map<uintptr_t, Mapping> mappings;     // aclrtMapMem
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

class Space {
 public:
  Space() : memory_(round_up(settings().device_memory, kGranularity)) {
    const size_t count = settings().visible_devices.size();
    const size_t share = kAllAddressSpace / (2 * count) / kGranularity * kGranularity;
    window_ = std::max(memory_ * kLeastAddressSpace, std::min(memory_ * kMostAddressSpace, share));
    distance_ = window_ * count;
    void* base = mmap(nullptr, 2 * distance_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(base != MAP_FAILED, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot reserve ", 2 * distance_,
            " bytes of address space for ", count, " device(s): ", std::strerror(errno),
            "; set OPWRIGHT_MEMORY to a smaller size");
    base_ = reinterpret_cast<uintptr_t>(base);
    for (size_t id = 0; id < count; ++id) {
      const uintptr_t begin = base_ + id * window_;
      void* const alias = reinterpret_cast<void*>(begin + distance_);
      require(mprotect(alias, memory_, PROT_READ | PROT_WRITE) == 0, ACL_ERROR_RT_MEMORY_ALLOCATION,
              "the host cannot provide ", memory_, " bytes of device memory: ", std::strerror(errno),
              "; set OPWRIGHT_MEMORY to a smaller size");
      madvise(alias, memory_, MADV_HUGEPAGE);  // a hint: fewer page faults on first touch
      devices_.push_back(std::make_unique<Device>(begin, memory_, window_));
    }
  }

  size_t memory() const { return memory_; }
  Device& device(int id) {
    require(id >= 0 && static_cast<size_t>(id) < devices_.size(), ACL_ERROR_RT_INVALID_DEVICEID, "device index ", id,
            " is out of range; this process has ", devices_.size(), " device(s)");
    return *devices_[static_cast<size_t>(id)];
  }
  bool contains(uintptr_t address) const noexcept { return address - base_ < distance_; }
  int device_of(uintptr_t address) const noexcept { return static_cast<int>((address - base_) / window_); }
  void* alias(uintptr_t address) const noexcept { return reinterpret_cast<void*>(address + distance_); }
  Device& owner(uintptr_t address) { return *devices_[static_cast<size_t>(device_of(address))]; }

 private:
  size_t memory_;
  size_t window_ = 0;
  size_t distance_ = 0;
  uintptr_t base_ = 0;
  std::vector<std::unique_ptr<Device>> devices_;
};

Space& space() {
  static Space* const instance = new Space();  // device addresses stay valid in static destructors
  return *instance;
}

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

void over_limit(int device, size_t size, const Device& state) {
  // torch_npu recognises "EL0004" and raises torch.OutOfMemoryError.
  fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "EL0004: Failed to allocate ", size, " bytes on device ", device, ": ",
       state.used, " of ", space().memory(), " bytes are in use; raise OPWRIGHT_MEMORY or free memory");
}

}  // namespace

void* allocate(int device, size_t size) {
  require(size > 0, ACL_ERROR_RT_PARAM_INVALID, "cannot allocate 0 bytes");
  Device& state = space().device(device);
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  if (size > space().memory()) over_limit(device, size, state);
  const size_t bytes = round_up(size, kAlignment);
  if (state.used + bytes > space().memory()) over_limit(device, size, state);
  const uintptr_t begin = state.heap.take(bytes, kAlignment);
  if (begin == 0) over_limit(device, size, state);
  state.allocations[begin] = bytes;
  state.charge(bytes);
  return reinterpret_cast<void*>(begin);
}

namespace {

void release_locked(Device& state, std::map<uintptr_t, size_t>::iterator it) {
  const auto [begin, bytes] = *it;
  if (bytes >= kReturnToSystem) {
    // Whole pages only: a neighbour may share the first and the last one.
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t first = round_up(begin, page);
    const uintptr_t last = (begin + bytes) / page * page;
    if (last > first) madvise(space().alias(first), last - first, MADV_DONTNEED);
  }
  state.used -= bytes;
  state.heap.give(begin, bytes);
  state.allocations.erase(it);
}

}  // namespace

void release(void* address) {
  require(address != nullptr, ACL_ERROR_RT_PARAM_INVALID, "cannot free a null pointer");
  require(is_device_address(address), ACL_ERROR_RT_PARAM_INVALID, "cannot free ", address,
          ": it is not a device address");
  Device& state = space().owner(number(address));
  {
    const std::unique_lock<std::shared_mutex> lock(state.mutex);
    const auto it = state.allocations.find(number(address));
    if (it != state.allocations.end()) return release_locked(state, it);
  }
  fail(ACL_ERROR_RT_PARAM_INVALID, "cannot free ", address, ": ", describe(address));
}

void release_all(int device) {
  Device& state = space().device(device);
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  while (!state.allocations.empty()) release_locked(state, state.allocations.begin());
}

size_t used_bytes(int device) {
  Device& state = space().device(device);
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  return state.used;
}

size_t peak_bytes(int device) {
  Device& state = space().device(device);
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  return state.peak;
}

size_t total_bytes() { return space().memory(); }

bool is_device_address(const void* address) noexcept { return space().contains(number(address)); }

int device_of(const void* address) noexcept { return space().device_of(number(address)); }

void* alias_of(const void* address) noexcept { return space().alias(number(address)); }

void* checked_alias(const void* address, size_t size, const char* what, int code) {
  require(is_device_address(address), code, what, ": ", address, " is not a device address",
          address == nullptr ? " (null)" : " (host memory, or memory of another library)");
  const uintptr_t begin = number(address);
  Device& state = space().owner(begin);
  {
    const std::shared_lock<std::shared_mutex> lock(state.mutex);
    const auto allocation = entry_at(state.allocations, begin);
    if (allocation != state.allocations.end() && begin + size <= allocation->first + allocation->second) {
      return space().alias(begin);
    }
    // Mappings that follow each other without a gap serve as one range (expandable segments grow that way).
    auto mapping = entry_at(state.mappings, begin);
    uintptr_t covered = begin;
    while (mapping != state.mappings.end() && mapping->first <= covered &&
           covered < mapping->first + mapping->second.size) {
      covered = mapping->first + mapping->second.size;
      if (covered >= begin + size) return space().alias(begin);
      ++mapping;
    }
  }
  fail(code, what, ": the range of ", size, " bytes at ", address, " is not device memory: ", describe(address));
}

std::string describe(const void* address) {
  if (!is_device_address(address)) return "not a device address";
  const uintptr_t value = number(address);
  Device& state = space().owner(value);
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  const auto allocation = entry_at(state.allocations, value);
  if (allocation != state.allocations.end() && value < allocation->first + allocation->second) {
    return text("device ", device_of(address), ", ", value - allocation->first, " bytes into an allocation of ",
                allocation->second, " bytes");
  }
  const auto mapping = entry_at(state.mappings, value);
  if (mapping != state.mappings.end() && value < mapping->first + mapping->second.size) {
    return text("device ", device_of(address), ", ", value - mapping->first, " bytes into a mapped block of ",
                mapping->second.size, " bytes");
  }
  return text("device ", device_of(address), ", freed or never allocated");
}

void* reserve(int device, size_t size, size_t alignment) {
  require(size > 0, ACL_ERROR_RT_PARAM_INVALID, "cannot reserve 0 bytes");
  require((alignment & (alignment - 1)) == 0, ACL_ERROR_RT_PARAM_INVALID, "alignment ", alignment,
          " is not a power of two");
  Device& state = space().device(device);
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  const size_t bytes = round_up(size, kGranularity);
  const uintptr_t begin = state.addresses.take(bytes, std::max(alignment, kGranularity));
  require(begin != 0, ACL_ERROR_RT_MEMORY_ALLOCATION, "no ", bytes, " bytes of address space are left on device ",
          device, "; raise OPWRIGHT_MEMORY (the address space grows with it)");
  state.reservations[begin] = bytes;
  return reinterpret_cast<void*>(begin);
}

void unreserve(void* address) {
  require(is_device_address(address), ACL_ERROR_RT_PARAM_INVALID, address, " is not a reserved device address");
  Device& state = space().owner(number(address));
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  const auto it = state.reservations.find(number(address));
  require(it != state.reservations.end(), ACL_ERROR_RT_PARAM_INVALID, address, " is not the start of a reservation");
  const auto mapping = state.mappings.lower_bound(it->first);
  require(mapping == state.mappings.end() || mapping->first >= it->first + it->second, ACL_ERROR_RT_PARAM_INVALID,
          "the reservation at ", address, " still has a block mapped at offset ",
          mapping == state.mappings.end() ? 0 : mapping->first - it->first, "; unmap it first");
  state.addresses.give(it->first, it->second);
  state.reservations.erase(it);
}

namespace {

// Handles given to callers. A handle is the address of its entry.
struct Handles {
  std::mutex mutex;
  std::map<void*, std::shared_ptr<Physical>> blocks;
};

Handles& handles() {
  static Handles* const instance = new Handles();
  return *instance;
}

std::shared_ptr<Physical> block_of(void* handle) {
  const std::lock_guard<std::mutex> lock(handles().mutex);
  const auto it = handles().blocks.find(handle);
  require(it != handles().blocks.end(), ACL_ERROR_RT_PARAM_INVALID, handle, " is not a live physical memory handle");
  return it->second;
}

// Returns the bytes to the device's budget when the last owner lets go.
std::shared_ptr<Physical> charged_block(int device, size_t bytes) {
  Device& state = space().device(device);
  {
    const std::unique_lock<std::shared_mutex> lock(state.mutex);
    if (state.used + bytes > space().memory()) over_limit(device, bytes, state);
    state.charge(bytes);
  }
  const auto refund = [&state, bytes] { state.used -= bytes; };
  try {
    return std::shared_ptr<Physical>(new Physical(device, bytes), [refund](Physical* block) {
      refund();  // every release of a block happens under the device's lock
      delete block;
    });
  } catch (const Error&) {
    const std::unique_lock<std::shared_mutex> lock(state.mutex);
    refund();
    throw;
  }
}

}  // namespace

void* create_physical(int device, size_t size) {
  require(size > 0 && size % kGranularity == 0, ACL_ERROR_RT_PARAM_INVALID, "a physical block of ", size,
          " bytes is not possible; the size must be a multiple of ", kGranularity);
  std::shared_ptr<Physical> block = charged_block(device, size);
  void* const handle = block.get();
  const std::lock_guard<std::mutex> lock(handles().mutex);
  handles().blocks[handle] = std::move(block);
  return handle;
}

void destroy_physical(void* handle) {
  std::shared_ptr<Physical> block = block_of(handle);
  {
    const std::lock_guard<std::mutex> lock(handles().mutex);
    handles().blocks.erase(handle);
  }
  const std::unique_lock<std::shared_mutex> lock(space().device(block->device).mutex);
  block.reset();
}

void map(void* address, size_t size, size_t offset, void* handle) {
  std::shared_ptr<Physical> block = block_of(handle);
  require(is_device_address(address), ACL_ERROR_RT_PARAM_INVALID, address, " is not a reserved device address");
  const uintptr_t begin = number(address);
  Device& state = space().owner(begin);
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  const auto reservation = entry_at(state.reservations, begin);
  require(reservation != state.reservations.end() && begin + size <= reservation->first + reservation->second,
          ACL_ERROR_RT_PARAM_INVALID, "the range of ", size, " bytes at ", address, " is not inside one reservation");
  require(size > 0 && begin % kGranularity == 0 && size % kGranularity == 0, ACL_ERROR_RT_PARAM_INVALID,
          "address and size of a mapping must be multiples of ", kGranularity);
  require(offset % kGranularity == 0 && offset + size <= block->size, ACL_ERROR_RT_PARAM_INVALID, "offset ", offset,
          " and size ", size, " do not fit a block of ", block->size, " bytes");
  const auto before = entry_at(state.mappings, begin + size - 1);
  require(before == state.mappings.end() || before->first + before->second.size <= begin, ACL_ERROR_RT_PARAM_INVALID,
          "part of the range at ", address, " is mapped already");
  void* const mapped = mmap(space().alias(begin), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                            block->descriptor, static_cast<off_t>(offset));
  require(mapped != MAP_FAILED, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot map ", size,
          " bytes: ", std::strerror(errno));
  state.mappings.emplace(begin, Mapping{size, std::move(block)});
}

void unmap(void* address) {
  require(is_device_address(address), ACL_ERROR_RT_PARAM_INVALID, address, " is not a mapped device address");
  Device& state = space().owner(number(address));
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  const auto it = state.mappings.find(number(address));
  require(it != state.mappings.end(), ACL_ERROR_RT_PARAM_INVALID, address, " is not the start of a mapping");
  void* const restored = mmap(space().alias(it->first), it->second.size, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  require(restored != MAP_FAILED, ACL_ERROR_INTERNAL_ERROR, "the host cannot unmap: ", std::strerror(errno));
  state.mappings.erase(it);
}

}  // namespace opwright::memory
