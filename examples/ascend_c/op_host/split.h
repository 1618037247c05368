// How work is divided among cores and tiles; used by the tilings of this project.
#pragma once

#include <algorithm>
#include <cstdint>

#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace samples {

constexpr uint64_t kBurst = 32;                       // bytes that a copy moves at least
constexpr uint32_t kWorkspace = 16u * 1024u * 1024u;  // what the libraries of the kernel side reserve

inline uint64_t up_to(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

struct Cores {
  uint32_t vector;
  uint64_t local_bytes;
};

inline Cores cores_of(gert::TilingContext* context) {
  const platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
  uint64_t bytes = 0;
  platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, bytes);
  return {platform.GetCoreNumAiv(), bytes};
}

// `total` elements in pieces of whole bursts, one for each block.
struct Pieces {
  uint32_t blocks;
  uint64_t each;
};

inline Pieces pieces_of(uint64_t total, uint32_t element_bytes, uint32_t cores) {
  const uint64_t unit = kBurst / element_bytes;
  const uint64_t each = std::max(unit, up_to((total + cores - 1) / cores, unit));
  return {static_cast<uint32_t>(std::max<uint64_t>((total + each - 1) / each, 1)), each};
}

}  // namespace samples
