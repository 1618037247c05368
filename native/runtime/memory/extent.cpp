// native/runtime/memory/extent.cpp
#include "runtime/memory/extent.h"

#include <mutex>

#include "runtime/memory/memory_space.h"

namespace opwright::memory {

Windows windows() noexcept {
  const uintptr_t distance = number(space().alias(0));
  return {space().base(), distance, static_cast<intptr_t>(distance)};
}

Extent extent_of(const void* address) {
  if (!is_device_address(address)) return {0, 0};
  const uintptr_t value = number(address);
  DeviceMemory& state = space().owner(value);
  const std::shared_lock<std::shared_mutex> lock(state.mutex);
  const auto allocation = entry_around(state.allocations, value);
  if (allocation != state.allocations.end()) return {allocation->first, allocation->second.bytes};
  const auto mapping = entry_around(state.mappings, value);
  if (mapping == state.mappings.end()) return {0, 0};
  // Mappings that follow each other without a gap serve as one range (expandable segments grow that way).
  uintptr_t end = mapping->first + mapping->second.bytes;
  for (auto next = std::next(mapping); next != state.mappings.end() && next->first == end; ++next) {
    end = next->first + next->second.bytes;
  }
  return {mapping->first, end - mapping->first};
}

const void* reachable(const void* address) noexcept {
  return is_device_address(address) ? space().alias(number(address)) : address;
}

}  // namespace opwright::memory
