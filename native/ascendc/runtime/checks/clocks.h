// native/ascendc/runtime/checks/clocks.h
// Vector clocks: what has happened before what.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/position.h"

namespace AscendC::machine {

// One pipe's knowledge of the others: the last instruction of each that is done for it.
using PipeClock = std::array<uint32_t, kPipes>;

inline void join(PipeClock& into, const PipeClock& other) {
  for (size_t i = 0; i < kPipes; ++i) into[i] = std::max(into[i], other[i]);
}

// The same between the cores of a launch, which count the times that they published it.
using CoreClock = std::vector<uint32_t>;

inline void join(CoreClock& into, const CoreClock& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

}  // namespace AscendC::machine
