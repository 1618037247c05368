// native/ascendc/instructions/copy_lanes.cpp
// Copy: lanes within the unified buffer.
#include <cstring>

#include "copy/data_copy.h"
#include "instructions/lanes.h"

namespace AscendC::machine::vector {
namespace {

constexpr const char* kCopyApi = "Copy";

template <uint32_t bytes>
void move_lanes(uint32_t count, void* dst, const void* const* sources, const Arguments&) {
  std::memmove(dst, sources[0], uint64_t{count} * bytes);
}

}  // namespace

void copy_lanes(Instruction& instruction, const Operand& dst, const Operand& src, const Lanes& lanes) {
  const Compute compute = src.bits == 16 ? move_lanes<2> : move_lanes<4>;
  Registers& registers = core().registers;
  if (!registers.mask_counts) {
    run(instruction, kCopyApi, compute, dst, &src, 1, lanes, {});
    return;
  }
  // In counter mode Copy takes that many elements in each of its repeats, which go on from block to block.
  for (uint32_t repeat = 0; repeat < lanes.repeats; repeat++) {
    Operand to = dst;
    Operand from = src;
    to.base = lane_address(dst, repeat, 0);
    from.base = lane_address(src, repeat, 0);
    to.repeat_stride = to.block_stride * DEFAULT_BLK_NUM;
    from.repeat_stride = from.block_stride * DEFAULT_BLK_NUM;
    run(instruction, kCopyApi, compute, to, &from, 1, lanes, {});
  }
}

}  // namespace AscendC::machine::vector
