#include "runtime/order/pool_memory.h"

namespace opwright::order {

void PoolMemory::write(uintptr_t begin, size_t bytes, uint64_t tensor) {
  if (bytes == 0) return;
  forget(begin, bytes);
  segments_.emplace(begin, Segment{begin + bytes, tensor});
}

bool PoolMemory::is_overwritten(uintptr_t begin, size_t bytes, uint64_t tensor) const {
  auto at = segments_.upper_bound(begin);
  if (at != segments_.begin()) --at;
  for (; at != segments_.end() && at->first < begin + bytes; ++at) {
    if (at->second.end > begin && at->second.tensor != tensor) return true;
  }
  return false;
}

void PoolMemory::forget(uintptr_t begin, size_t bytes) {
  split(begin);
  split(begin + bytes);
  segments_.erase(segments_.lower_bound(begin), segments_.lower_bound(begin + bytes));
}

void PoolMemory::split(uintptr_t at) {
  auto found = segments_.upper_bound(at);
  if (found == segments_.begin()) return;
  --found;
  if (found->first == at || found->second.end <= at) return;
  segments_.emplace(at, found->second);
  found->second.end = at;
}

}  // namespace opwright::order
