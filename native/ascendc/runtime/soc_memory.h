// native/ascendc/runtime/soc_memory.h
// The memories of a core per family of chips.
#pragma once

#include <array>
#include <string_view>

#include "core/position.h"

namespace AscendC::machine {

using Capacities = std::array<uint32_t, kMemories>;  // bytes, in the order of Memory

// By the short name of runtime/soc.h. Kernels are compiled for Atlas A2; other chips lend only their sizes.
// Source: the hardware pages of the Ascend C guide and `GetCoreMemSize`.
constexpr Capacities capacities_of(std::string_view soc) {
  constexpr uint32_t kKi = 1024;
  struct Row {
    std::string_view soc;
    Capacities bytes;
  };
  constexpr Row kRows[] = {
      //                unified    L1         L0A       L0B       L0C        bias     fixpipe
      {"ascend910b", {192 * kKi, 512 * kKi, 64 * kKi, 64 * kKi, 128 * kKi, 1 * kKi, 7 * kKi}},
      {"ascend910_93", {192 * kKi, 512 * kKi, 64 * kKi, 64 * kKi, 128 * kKi, 1 * kKi, 7 * kKi}},
      {"ascend310p", {256 * kKi, 1024 * kKi, 64 * kKi, 64 * kKi, 256 * kKi, 1 * kKi, 7 * kKi}},
      {"ascend910", {256 * kKi, 1024 * kKi, 64 * kKi, 64 * kKi, 256 * kKi, 1 * kKi, 7 * kKi}},
      {"ascend310b", {256 * kKi, 1024 * kKi, 64 * kKi, 64 * kKi, 128 * kKi, 1 * kKi, 7 * kKi}},
      {"ascend950", {248 * kKi, 512 * kKi, 64 * kKi, 64 * kKi, 256 * kKi, 4 * kKi, 16 * kKi}},
  };
  for (const Row& row : kRows) {
    if (row.soc == soc) return row.bytes;
  }
  return kRows[0].bytes;
}

}  // namespace AscendC::machine
