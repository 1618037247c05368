// native/runtime/memory/virtual_memory.cpp
#include "runtime/memory/virtual_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "runtime/memory/backing.h"
#include "runtime/memory/memory_space.h"
#include "runtime/order/order.h"

namespace opwright::memory {

// A physical block: memory of its own that can be mapped at reserved addresses, those of other devices too. Lives until
// its handle is dropped and its last mapping is gone; its end takes the lock of its device, so nobody drops a block who
// holds a device's lock.
struct Physical {
  const SharedFile file;
};

namespace {

constexpr size_t kMostAddresses = size_t{1} << 47;  // of a process

}  // namespace

void* reserve(int device, size_t size, size_t alignment) {
  require(size > 0, ACL_ERROR_RT_PARAM_INVALID, "cannot reserve 0 bytes");
  require((alignment & (alignment - 1)) == 0, ACL_ERROR_RT_PARAM_INVALID, "alignment ", alignment,
          " is not a power of two");
  DeviceMemory& state = space().device(device);
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  // More than the process has addresses for is refused below, like any size that does not fit.
  const size_t bytes = round_up(std::min(size, kMostAddresses), kGranularity);
  const uintptr_t begin = state.addresses.take(bytes, std::max(alignment, kGranularity));
  require(begin != 0, ACL_ERROR_RT_MEMORY_ALLOCATION, "no ", size, " bytes of address space are left on device ",
          device, "; raise OPWRIGHT_MEMORY (the address space grows with it)");
  state.reservations[begin] = bytes;
  return reinterpret_cast<void*>(begin);
}

void unreserve(void* address) {
  require(is_device_address(address), ACL_ERROR_RT_PARAM_INVALID, address, " is not a reserved device address");
  DeviceMemory& state = space().owner(number(address));
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

// The blocks that count as memory of a device, for as long as they live.
struct Charged {
  std::mutex mutex;
  std::set<const Physical*> blocks;
};

Charged& charged() {
  static Charged* const instance = new Charged();
  return *instance;
}

// The caller holds the handles' mutex.
std::map<void*, std::shared_ptr<Physical>>::iterator entry_of(void* handle) {
  const auto it = handles().blocks.find(handle);
  require(it != handles().blocks.end(), ACL_ERROR_RT_PARAM_INVALID, handle, " is not a live physical memory handle");
  return it;
}

std::shared_ptr<Physical> block_of(void* handle) {
  const std::lock_guard<std::mutex> lock(handles().mutex);
  return entry_of(handle)->second;
}

// Returns the bytes to the device's budget when the last owner lets go.
std::shared_ptr<Physical> charged_block(int device, size_t bytes) {
  DeviceMemory& state = space().device(device);
  {
    const std::unique_lock<std::shared_mutex> lock(state.mutex);
    if (bytes > space().memory() - state.used) over_limit(device, bytes, state);
    state.charge(bytes);
  }
  const auto refund = [&state, bytes] {
    const std::unique_lock<std::shared_mutex> lock(state.mutex);
    state.used -= bytes;
  };
  try {
    std::shared_ptr<Physical> block(new Physical{SharedFile(bytes)}, [refund](Physical* ended) {
      {
        const std::lock_guard<std::mutex> lock(charged().mutex);
        charged().blocks.erase(ended);
      }
      refund();
      delete ended;
    });
    const std::lock_guard<std::mutex> lock(charged().mutex);
    charged().blocks.insert(block.get());
    return block;
  } catch (const Error&) {
    refund();
    throw;
  }
}

}  // namespace

void* create_physical(int device, size_t size) {
  require(size > 0 && size % kGranularity == 0, ACL_ERROR_RT_PARAM_INVALID, "a physical block of ", size,
          " bytes is not possible; the size must be a multiple of ", kGranularity);
  require_backing(device, size);
  std::shared_ptr<Physical> block = charged_block(device, size);
  void* const handle = block.get();
  const std::lock_guard<std::mutex> lock(handles().mutex);
  handles().blocks[handle] = std::move(block);
  return handle;
}

size_t written_bytes_of_blocks() {
  const std::lock_guard<std::mutex> lock(charged().mutex);
  size_t written = 0;
  for (const Physical* block : charged().blocks) written += block->file.written_bytes();
  return written;
}

void* adopt_physical(SharedFile file) {
  const std::shared_ptr<Physical> block(new Physical{std::move(file)});
  void* const handle = block.get();
  const std::lock_guard<std::mutex> lock(handles().mutex);
  handles().blocks[handle] = block;
  return handle;
}

FileName file_of_physical(void* handle) { return block_of(handle)->file.name(); }

bool has_physical(const FileName& file) {
  const std::lock_guard<std::mutex> lock(handles().mutex);
  const auto& blocks = handles().blocks;
  return std::any_of(blocks.begin(), blocks.end(), [&](const auto& it) { return it.second->file.name() == file; });
}

void destroy_physical(void* handle) {
  std::shared_ptr<Physical> block;  // dropped without the mutex
  const std::lock_guard<std::mutex> lock(handles().mutex);
  const auto it = entry_of(handle);
  block = std::move(it->second);
  handles().blocks.erase(it);
}

void map(void* address, size_t size, size_t offset, void* handle) {
  std::shared_ptr<Physical> block = block_of(handle);
  require(is_device_address(address), ACL_ERROR_RT_PARAM_INVALID, address, " is not a reserved device address");
  const uintptr_t begin = number(address);
  DeviceMemory& state = space().owner(begin);
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  const auto reservation = entry_at(state.reservations, begin);
  require(reservation != state.reservations.end() && begin < reservation->first + reservation->second &&
              size <= reservation->first + reservation->second - begin,
          ACL_ERROR_RT_PARAM_INVALID, "the range of ", size, " bytes at ", address, " is not inside one reservation");
  const size_t whole = block->file.bytes();
  require(size > 0 && begin % kGranularity == 0 && size % kGranularity == 0, ACL_ERROR_RT_PARAM_INVALID,
          "address and size of a mapping must be multiples of ", kGranularity);
  require(offset % kGranularity == 0 && offset <= whole && size <= whole - offset, ACL_ERROR_RT_PARAM_INVALID,
          "offset ", offset, " and size ", size, " do not fit a block of ", whole, " bytes");
  const auto before = entry_at(state.mappings, begin + size - 1);
  require(before == state.mappings.end() || before->first + before->second.bytes <= begin, ACL_ERROR_RT_PARAM_INVALID,
          "part of the range at ", address, " is mapped already");
  void* const mapped = mmap(space().alias(begin), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                            block->file.descriptor(), static_cast<off_t>(offset));
  require(mapped != MAP_FAILED, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot map ", size,
          " bytes: ", std::strerror(errno));
  state.mappings.emplace(begin, Mapping{size, std::move(block), next_serial()});
}

void require_mapping(const void* address, size_t size) {
  require(is_device_address(address), ACL_ERROR_RT_PARAM_INVALID, address, " is not a mapped device address");
  DeviceMemory& state = space().owner(number(address));
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  const auto it = state.mappings.find(number(address));
  require(it != state.mappings.end() && it->second.bytes == size, ACL_ERROR_RT_PARAM_INVALID, "no mapping of ", size,
          " bytes begins at ", address);
}

void* map_file(int device, SharedFile file) {
  using Owned = std::unique_ptr<void, void (*)(void*)>;
  const size_t bytes = file.bytes();
  const Owned block(adopt_physical(std::move(file)), destroy_physical);  // later the mapping holds it
  Owned address(reserve(device, bytes, 0), unreserve);
  map(address.get(), bytes, 0, block.get());
  return address.release();
}

void unmap_file(void* address) {
  unmap(address);
  unreserve(address);
}

void unmap(void* address) {
  require(is_device_address(address), ACL_ERROR_RT_PARAM_INVALID, address, " is not a mapped device address");
  DeviceMemory& state = space().owner(number(address));
  std::shared_ptr<Physical> block;  // dropped without the device's lock
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  const auto it = state.mappings.find(number(address));
  require(it != state.mappings.end(), ACL_ERROR_RT_PARAM_INVALID, address, " is not the start of a mapping");
  void* const restored = mmap(space().alias(it->first), it->second.bytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  require(restored != MAP_FAILED, ACL_ERROR_INTERNAL_ERROR, "the host cannot unmap: ", std::strerror(errno));
  note_release();
  order::forget(address, it->second.bytes);
  block = std::move(it->second.block);
  state.mappings.erase(it);
}

}  // namespace opwright::memory
