// native/runtime/memory/backing.cpp
#include "runtime/memory/backing.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/memory/machine_memory.h"
#include "runtime/memory/memory_space.h"
#include "runtime/memory/virtual_memory.h"
#include "runtime/settings.h"

namespace opwright::memory {
namespace {

using Clock = std::chrono::steady_clock;

// Left to the system, to other programs and to what kernels take for themselves: a sixteenth of the machine.
constexpr uint64_t kReservedDivisor = 16;
// Of the room that a probe of the machine found, this part can be allocated without another probe, for so long.
// Several processes that probe at once share the room as long as there are not more than that.
constexpr uint64_t kAllowanceDivisor = 4;
constexpr std::chrono::seconds kProbeLifetime(1);
// Smaller allocations count as written: there is little in them, and there may be many.
constexpr size_t kMinProbedBytes = 1 << 20;

// Of whole pages from the one that `address` lies in.
size_t resident_bytes(const void* address, size_t size) {
  constexpr size_t kPagesAtOnce = 16 << 10;
  std::vector<unsigned char> pages(kPagesAtOnce);
  const uintptr_t begin = number(address) / page_bytes() * page_bytes();
  const uintptr_t end = number(address) + size;
  size_t resident = 0;
  for (uintptr_t at = begin; at < end; at += kPagesAtOnce * page_bytes()) {
    const size_t count = std::min(kPagesAtOnce, whole_pages(end - at) / page_bytes());
    if (mincore(reinterpret_cast<void*>(at), count * page_bytes(), pages.data()) != 0) break;
    const auto last = pages.begin() + static_cast<std::ptrdiff_t>(count);
    resident += static_cast<size_t>(std::count_if(pages.begin(), last, [](unsigned char page) { return page & 1; }));
  }
  return std::min(resident * page_bytes(), size);
}

uint64_t allocated_bytes() {
  uint64_t bytes = 0;
  for (size_t id = 0; id < settings().visible_devices.size(); ++id) bytes += used_bytes(static_cast<int>(id));
  return bytes;
}

uint64_t written_bytes() {
  uint64_t written = written_bytes_of_blocks();
  for (size_t id = 0; id < settings().visible_devices.size(); ++id) {
    DeviceMemory& state = space().device(static_cast<int>(id));
    const std::shared_lock<std::shared_mutex> lock(state.mutex);
    for (const auto& [begin, allocation] : state.allocations) {
      const bool small = allocation.bytes < kMinProbedBytes;
      written += small ? allocation.bytes : resident_bytes(space().alias(begin), allocation.bytes);
    }
  }
  return written;
}

// Memory of the machine at one time.
struct Room {
  uint64_t available = 0;
  uint64_t reserved = 0;
  uint64_t promised = 0;  // allocated, but not written yet

  uint64_t bytes() const { return available - std::min(available, reserved + promised); }
};

Room probe_machine(size_t size) {
  Room room{available_machine_memory(), machine_memory() / kReservedDivisor, allocated_bytes()};
  if (room.bytes() >= size) return room;  // even if nothing was written
  room.promised -= std::min(room.promised, written_bytes());
  return room;
}

struct Allowance {
  std::mutex mutex;
  uint64_t bytes = 0;
  Clock::time_point ends;
};

// The bytes that each device has allocated: "device 0 has 512 and device 1 has 1024 bytes".
std::string shares() {
  std::string shown;
  const size_t count = settings().visible_devices.size();
  for (size_t id = 0; id < count; ++id) {
    if (id > 0) shown += id + 1 == count ? " and " : ", ";
    shown += text("device ", id, " has ", used_bytes(static_cast<int>(id)));
  }
  return shown + " bytes";
}

Allowance& allowance() {
  static Allowance* const instance = new Allowance();
  return *instance;
}

}  // namespace

void require_backing(int device, size_t size) {
  const std::lock_guard<std::mutex> lock(allowance().mutex);
  const auto now = Clock::now();
  if (size <= allowance().bytes && now < allowance().ends) {
    allowance().bytes -= size;
    return;
  }
  const Room room = probe_machine(size);
  allowance().bytes = 0;
  // torch_npu recognises "EL0004" and raises torch.OutOfMemoryError.
  require(room.bytes() >= size, ACL_ERROR_RT_MEMORY_ALLOCATION, "EL0004: Failed to allocate ", size,
          " bytes on device ", device, ": this machine has ", room.available, " bytes left, ", room.reserved,
          " of them are kept for the system and ", room.promised,
          " belong to device memory that was allocated and not written yet. Of this process ", shares(),
          "; free memory on any of them, or end other programs");
  allowance().bytes = (room.bytes() - size) / kAllowanceDivisor;
  allowance().ends = now + kProbeLifetime;
}

size_t free_bytes(int device) {
  const size_t left = space().memory() - used_bytes(device);
  return std::min<uint64_t>(left, probe_machine(left).bytes());
}

}  // namespace opwright::memory
