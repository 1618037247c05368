// native/ascendc/runtime/local_memory.cpp
#include "ascendc/runtime/local_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "ascendc/runtime/soc_memory.h"
#include "runtime/error.h"
#include "runtime/soc.h"

namespace AscendC::machine {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kGuard = 256 * kPage;

constexpr size_t round_up(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

[[noreturn]] void fail_to_map(int reason) {
  opwright::fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "cannot map the local memory of a core: ", std::strerror(reason));
}

struct Shelf {
  std::mutex mutex;
  std::vector<std::unique_ptr<LocalMemory>> idle;
};

Shelf& shelf() {
  static Shelf* const instance = new Shelf();  // threads may end after static destructors
  return *instance;
}

}  // namespace

LocalMemory::LocalMemory() {
  const Capacities capacities = capacities_of(opwright::soc().short_name);
  bytes_ = kGuard;
  for (const uint32_t capacity : capacities) bytes_ += round_up(capacity) + kGuard;
  void* const mapped = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) fail_to_map(errno);
  base_ = static_cast<uint8_t*>(mapped);
  uint8_t* cursor = base_ + kGuard;
  for (size_t i = 0; i < kMemories; ++i) {
    const size_t rounded = round_up(capacities[i]);
    if (mprotect(cursor, rounded, PROT_READ | PROT_WRITE) != 0) {
      const int reason = errno;
      munmap(base_, bytes_);
      fail_to_map(reason);
    }
    // It ends where the guard pages begin.
    spans_[i] = MemorySpan{cursor + rounded - capacities[i], capacities[i]};
    cursor += rounded + kGuard;
  }
}

LocalMemory::~LocalMemory() { munmap(base_, bytes_); }

Memory LocalMemory::find(const void* address) const {
  const auto* const byte = static_cast<const uint8_t*>(address);
  if (byte < base_ || byte >= base_ + bytes_) return Memory::kNone;
  for (size_t i = 0; i < kMemories; ++i) {
    if (byte < spans_[i].base + spans_[i].bytes + kGuard / 2) return static_cast<Memory>(i);
  }
  return static_cast<Memory>(kMemories - 1);
}

LentMemory::LentMemory() {
  {
    const std::lock_guard<std::mutex> lock(shelf().mutex);
    if (!shelf().idle.empty()) {
      memory_ = std::move(shelf().idle.back());
      shelf().idle.pop_back();
    }
  }
  if (memory_ == nullptr) memory_ = std::make_unique<LocalMemory>();
}

LentMemory::~LentMemory() {
  const std::lock_guard<std::mutex> lock(shelf().mutex);
  shelf().idle.push_back(std::move(memory_));
}

}  // namespace AscendC::machine
