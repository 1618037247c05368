// native/runtime/memory/guard/device_memory.cpp
#include "runtime/memory/guard/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "runtime/memory/guard/guard.h"
#include "runtime/memory/guard/report.h"

namespace opwright::guard {
namespace {

using memory::page_bytes;

constexpr size_t kMostFreed = 256;  // ranges that are kept back

struct Guarded {
  memory::DeviceMemory* device;
  uintptr_t region;  // from guard page to guard page
  size_t region_size;
  size_t size;   // that was asked for
  size_t bytes;  // rounded up
  Mode mode;
};

struct Book {
  std::mutex mutex;
  std::map<uintptr_t, Guarded> live;                    // by address
  std::deque<std::pair<uintptr_t, Guarded>> kept_back;  // oldest first
};

Book& book() {
  static Book* const instance = new Book();
  return *instance;
}

void protect(uintptr_t begin, size_t size, int rights) {
  void* const alias = memory::space().alias(begin);
  require(mprotect(alias, size, rights) == 0, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot protect ", size,
          " bytes of device memory");
  if (rights == PROT_NONE) madvise(alias, size, MADV_DONTNEED);
}

void look_at_padding(uintptr_t begin, Guarded& guarded) {
  const auto* const padding = static_cast<const unsigned char*>(memory::space().alias(begin)) + guarded.size;
  const Changed changed = changed_in(padding, guarded.bytes - guarded.size, guarded.mode);
  if (changed.count == 0) return;
  Fault fault;
  fault.what = What::kPadding;
  fault.offset = static_cast<int64_t>(guarded.size) + (changed.first - padding);
  fault.bytes = changed.count;
  fault.operand_bytes = guarded.size;
  fault.operand = "an allocation of device memory";
  report(fault);
  guarded.size = guarded.bytes;  // once
}

// Of this device, whose mutex the caller holds. False if none is kept back.
bool give_back_oldest(memory::DeviceMemory& device) {
  auto& kept = book().kept_back;
  const auto it =
      std::find_if(kept.begin(), kept.end(), [&](const auto& each) { return each.second.device == &device; });
  if (it == kept.end()) return false;
  device.heap.give(it->second.region, it->second.region_size);
  kept.erase(it);
  return true;
}

}  // namespace

uintptr_t take(memory::DeviceMemory& device, size_t size, size_t bytes) {
  const size_t inner = memory::whole_pages(bytes);
  const size_t region_size = inner + 2 * page_bytes();
  const std::lock_guard<std::mutex> lock(book().mutex);
  uintptr_t region = device.heap.take(region_size, page_bytes());
  while (region == 0 && give_back_oldest(device)) region = device.heap.take(region_size, page_bytes());
  if (region == 0) return 0;
  // Of a process that was forked, the whole window may be open from before.
  protect(region, page_bytes(), PROT_NONE);
  protect(region + page_bytes() + inner, page_bytes(), PROT_NONE);
  protect(region + page_bytes(), inner, PROT_READ | PROT_WRITE);
  fill(memory::space().alias(region + page_bytes()), inner, mode());
  const uintptr_t begin = region + page_bytes() + inner - bytes;
  book().live[begin] = {&device, region, region_size, size, bytes, mode()};
  return begin;
}

void give(memory::DeviceMemory& device, uintptr_t begin) {
  const std::lock_guard<std::mutex> lock(book().mutex);
  const auto it = book().live.find(begin);
  Guarded guarded = it->second;
  book().live.erase(it);
  look_at_padding(begin, guarded);
  protect(guarded.region + page_bytes(), guarded.region_size - 2 * page_bytes(), PROT_NONE);
  book().kept_back.emplace_back(begin, guarded);
  if (book().kept_back.size() > kMostFreed) give_back_oldest(device);
}

std::optional<std::string> freed(uintptr_t address) {
  const std::lock_guard<std::mutex> lock(book().mutex);
  for (const auto& [begin, guarded] : book().kept_back) {
    if (address < begin || address - begin >= guarded.bytes) continue;
    return text(address - begin, " bytes into an allocation of ", guarded.bytes, " bytes that was freed");
  }
  return std::nullopt;
}

void check_padding() {
  const std::lock_guard<std::mutex> lock(book().mutex);
  for (auto& [begin, guarded] : book().live) look_at_padding(begin, guarded);
}

}  // namespace opwright::guard
