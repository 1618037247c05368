// native/ascendc/instructions/lanes.h
// Visits the lanes of an instruction one by one: for instructions that are not arithmetic on lanes of equal rank.
#pragma once

#include "instructions/extent.h"

namespace AscendC::machine::vector {

// Where a lane of an operand lies.
inline std::byte* lane_address(const Operand& operand, uint32_t repeat, uint32_t lane) {
  const uint32_t per_block = kBlockBytes * 8 / operand.bits;
  const uint64_t blocks = uint64_t{repeat} * operand.repeat_stride + uint64_t{lane / per_block} * operand.block_stride;
  return static_cast<std::byte*>(operand.base) + blocks * kBlockBytes + lane % per_block * operand.bits / 8;
}

// Calls `visit(repeat, lane, number)` for each lane that takes part; `number` counts all lanes, taking part or not.
template <class Visit>
void for_lanes(const Extent& extent, Visit visit) {
  if (extent.is_contiguous) {
    for (uint64_t i = 0; i < extent.count; i++) visit(0, static_cast<uint32_t>(i), i);
    return;
  }
  for (uint32_t repeat = 0; repeat < extent.repeats; repeat++) {
    const Active& active = extent.of_repeat(repeat);
    for (uint32_t lane = 0; lane < active.top(); lane++) {
      if (active.lane(lane)) visit(repeat, lane, uint64_t{repeat} * extent.per_repeat + lane);
    }
  }
}

}  // namespace AscendC::machine::vector
