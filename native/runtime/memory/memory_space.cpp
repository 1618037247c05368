// native/runtime/memory/memory_space.cpp
#include "runtime/memory/memory_space.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "runtime/settings.h"

namespace opwright::memory {
namespace {

// Address space of a device per byte of its memory. torch_npu's expandable segments reserve 9/8 of the memory for each
// stream and block size, so the factor bounds how many of them there can be.
constexpr size_t kMostAddressSpace = 33;
constexpr size_t kLeastAddressSpace = 5;
constexpr size_t kAllAddressSpace = size_t{1} << 45;  // both windows of all devices; a process has 2^47 bytes

}  // namespace

Space::Space() : memory_(round_up(settings().device_memory, kGranularity)) {
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
    if (guard_setting() != 0) {  // each allocation gets its access rights
      devices_.push_back(std::make_unique<DeviceMemory>(begin, heap_size(), window_));
      continue;
    }
    require(mprotect(alias, heap_size(), PROT_READ | PROT_WRITE) == 0, ACL_ERROR_RT_MEMORY_ALLOCATION,
            "the host cannot provide ", memory_, " bytes of device memory: ", std::strerror(errno),
            "; set OPWRIGHT_MEMORY to a smaller size");
    madvise(alias, heap_size(), MADV_HUGEPAGE);  // a hint: fewer page faults on first touch
    devices_.push_back(std::make_unique<DeviceMemory>(begin, heap_size(), window_));
  }
}

void over_limit(int device, size_t size, const DeviceMemory& state) {
  // torch_npu recognises "EL0004" and raises torch.OutOfMemoryError.
  fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "EL0004: Failed to allocate ", size, " bytes on device ", device, ": ",
       state.used, " of ", space().memory(), " bytes are in use; raise OPWRIGHT_MEMORY or free memory");
}

}  // namespace opwright::memory
