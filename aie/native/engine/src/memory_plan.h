// memory_plan.h: which places in one block of memory the values of a run take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace AscendIE {

constexpr size_t kNoPlace = SIZE_MAX;

/// One allocation of a run, with when it is made and freed (numbers of events; the end of the run if it never is).
struct Lifetime {
  size_t size = 0;  // bytes
  size_t begin = 0;
  size_t end = 0;
};

struct MemoryPlan {
  std::vector<size_t> sizes;    // of every allocation, in their order
  std::vector<size_t> offsets;  // kNoPlace: not from the block
  size_t total = 0;             // bytes of the block
};

/// Allocations that live at the same time get places that do not overlap; the largest are placed first, each at the
/// lowest offset that is free all its life. Those that outlive the run (`end` at or behind `events`), and small ones,
/// get no place.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes, size_t events);

}  // namespace AscendIE
