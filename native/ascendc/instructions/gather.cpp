// native/ascendc/instructions/gather.cpp
#include "vector/gather.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "instructions/lanes.h"

namespace AscendC::machine::vector {
namespace {

uint32_t offset_at(const Operand& offsets, uint64_t number) {
  uint32_t value;
  std::memcpy(&value, static_cast<const std::byte*>(offsets.base) + number * sizeof value, sizeof value);
  return value;
}

// Where an offset leads to. It must lie in the unified buffer.
const std::byte* source_at(const char* api, const Operand& src, uint64_t offset, uint64_t number, uint32_t bytes) {
  const std::byte* from = static_cast<const std::byte*>(src.base) + offset;
  const MemorySpan& unified = core().memory[static_cast<size_t>(Memory::kUnified)];
  const auto at = static_cast<uint64_t>(reinterpret_cast<const uint8_t*>(from) - unified.base);
  if (at >= unified.bytes || bytes > unified.bytes - at) {
    refuse(api, "offset ", number, " leads to byte ", offset, " of ", src.name,
           ", which is outside of the unified buffer");
  }
  if (offset % bytes != 0) {
    refuse(api, "offset ", number, " leads to byte ", offset, " of ", src.name, "; it must be a multiple of ", bytes);
  }
  return from;
}

}  // namespace

void gather(Instruction& instruction, const Operand& dst, const Operand& src, uint32_t, const Operand& offsets,
            uint32_t base, const Lanes& lanes) {
  constexpr const char* kApi = "Gather";
  const Extent extent = resolve(lanes, lanes_per_repeat(dst.bits));
  if (extent.empty()) return;
  const uint32_t bytes = dst.bits / 8;
  const uint64_t all =
      extent.is_contiguous ? extent.count : uint64_t{extent.repeats - 1} * extent.per_repeat + extent.last.top();
  touch(instruction, kApi, offsets.name, offsets.base, all * sizeof(uint32_t), false);
  if (instruction.active()) {
    for_lanes(extent, [&](uint32_t, uint32_t, uint64_t number) {
      const uint64_t offset = uint64_t{base} + offset_at(offsets, number);
      instruction.reads(src.name, Region{source_at(kApi, src, offset, number, bytes), bytes, 1, 0, 1, 0, src.buffer});
    });
  }
  touch(instruction, kApi, dst, extent, true);
  for_lanes(extent, [&](uint32_t repeat, uint32_t lane, uint64_t number) {
    const uint64_t offset = uint64_t{base} + offset_at(offsets, number);
    const std::byte* from = source_at(kApi, src, offset, number, bytes);
    std::memcpy(
        extent.is_contiguous ? static_cast<std::byte*>(dst.base) + number * bytes : lane_address(dst, repeat, lane),
        from, bytes);
  });
}

void gather_blocks(Instruction& instruction, const Operand& dst, const Operand& src, const Operand& offsets,
                   uint32_t repeats) {
  constexpr const char* kApi = "Gatherb";
  if (repeats == 0) return;
  const uint32_t blocks = repeats * DEFAULT_BLK_NUM;
  touch(instruction, kApi, offsets.name, offsets.base, uint64_t{blocks} * sizeof(uint32_t), false);
  for (uint32_t number = 0; instruction.active() && number < blocks; number++) {
    const std::byte* from = source_at(kApi, src, offset_at(offsets, number), number, kBlockBytes);
    instruction.reads(src.name, Region{from, kBlockBytes, 1, 0, 1, 0, src.buffer});
  }
  const Extent extent = resolve({Lanes::Mask::kBits, repeats, ~uint64_t{0}, ~uint64_t{0}}, lanes_per_repeat(dst.bits));
  touch(instruction, kApi, dst, extent, true);
  const uint32_t per_block = kBlockBytes * 8 / dst.bits;
  for (uint32_t number = 0; number < blocks; number++) {
    const std::byte* from = source_at(kApi, src, offset_at(offsets, number), number, kBlockBytes);
    std::memmove(lane_address(dst, number / DEFAULT_BLK_NUM, number % DEFAULT_BLK_NUM * per_block), from, kBlockBytes);
  }
}

namespace {

// Patterns 1 and 2 take every second lane, 3 to 6 every fourth, 7 all.
bool taken_by_pattern(uint32_t pattern, uint32_t lane) {
  if (pattern <= 2) return lane % 2 == pattern - 1;
  return pattern == 7 || lane % 4 == pattern - 3;
}

}  // namespace

uint64_t gather_masked(Instruction& instruction, const Operand& dst, const Operand& src, const MaskedGather& how) {
  constexpr const char* kApi = "GatherMask";
  core().registers.mask_counts = false;
  const uint32_t lanes = how.lanes_per_repeat == 0 ? lanes_per_repeat(src.bits) : how.lanes_per_repeat;
  const uint32_t bytes = src.bits / 8;
  core().registers.gather_count = 0;
  if (how.repeats == 0) return 0;
  std::vector<std::byte> kept;
  for (uint32_t repeat = 0; repeat < how.repeats; repeat++) {
    Operand row = src;
    row.base = lane_address(src, repeat, 0);
    row.repeat_stride = src.block_stride * DEFAULT_BLK_NUM;
    const uint32_t per_repeat = lanes_per_repeat(src.bits);
    const uint32_t rows = (lanes + per_repeat - 1) / per_repeat;
    const Active all = Active::first(per_repeat);
    touch(instruction, kApi, row,
          {false, true, rows, per_repeat, lanes, all, Active::first(lanes - (rows - 1) * per_repeat)}, false);
    const auto* bits = static_cast<const uint8_t*>(how.bits) + uint64_t{repeat} * how.bits_stride * kBlockBytes;
    if (how.pattern == 0) touch(instruction, kApi, "src1Pattern", bits, (lanes + 7) / 8, false);
    for (uint32_t lane = 0; lane < lanes; lane++) {
      const bool taken =
          how.pattern == 0 ? (bits[lane / 8] >> (lane % 8) & 1) != 0 : taken_by_pattern(how.pattern, lane);
      if (!taken) continue;
      const std::byte* from = lane_address(src, repeat, lane);
      kept.insert(kept.end(), from, from + bytes);
    }
  }
  if (!kept.empty()) {
    touch(instruction, kApi, dst.name, dst.base, kept.size(), true);
    std::memcpy(dst.base, kept.data(), kept.size());
  }
  const uint64_t count = kept.size() / bytes;
  core().registers.gather_count = static_cast<int64_t>(count);
  return count;
}

}  // namespace AscendC::machine::vector
