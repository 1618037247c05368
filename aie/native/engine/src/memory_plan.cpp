// memory_plan.cpp
#include "memory_plan.h"

#include <algorithm>
#include <numeric>

namespace AscendIE {

namespace {

constexpr size_t kAlignment = 64;           // what c10's allocator gives: a cache line, a vector register
constexpr size_t kSmall = size_t{1} << 14;  // malloc is as good for these

size_t aligned(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

bool together(const Lifetime& a, const Lifetime& b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes, size_t events) {
  MemoryPlan plan;
  for (const Lifetime& lifetime : lifetimes) plan.sizes.push_back(lifetime.size);
  plan.offsets.assign(lifetimes.size(), kNoPlace);
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t i) { return lifetimes[i].size < kSmall || lifetimes[i].end >= events; });
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].size > lifetimes[b].size; });
  std::vector<size_t> placed;  // by offset
  for (const size_t i : order) {
    size_t offset = 0;
    for (const size_t other : placed) {
      if (!together(lifetimes[i], lifetimes[other])) continue;
      if (offset + aligned(lifetimes[i].size) <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + aligned(lifetimes[other].size));
    }
    plan.offsets[i] = offset;
    plan.total = std::max(plan.total, offset + aligned(lifetimes[i].size));
    const auto behind = [&](size_t value, size_t other) { return value < plan.offsets[other]; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset, behind), i);
  }
  return plan;
}

}  // namespace AscendIE
