// native/ascendc/instructions/extent.cpp
#include "instructions/extent.h"

#include <algorithm>

namespace AscendC::machine::vector {
namespace {

Extent contiguous(uint64_t count) { return {true, true, 1, 0, count, {}, {}}; }

Extent counted(uint64_t count, uint32_t per_repeat) {
  const uint64_t repeats = (count + per_repeat - 1) / per_repeat;
  const uint32_t rest = static_cast<uint32_t>(count - (repeats - (repeats > 0)) * per_repeat);
  const Active all = Active::first(per_repeat);
  return {false, true, static_cast<uint32_t>(repeats), per_repeat, count, all, Active::first(rest)};
}

Extent masked(Active mask, uint32_t repeats, uint32_t per_repeat) {
  const Active all = Active::first(per_repeat);
  const Active used{mask.low & all.low, mask.high & all.high};
  const bool full = used.low == all.low && used.high == all.high;
  return {false, full, repeats, per_repeat, uint64_t{repeats} * per_repeat, used, used};
}

// Bytes from the start of an operand to the end of what a repeat with these lanes covers.
uint64_t reach(const Operand& operand, uint32_t top) {
  const uint32_t per_block = kBlockBytes * 8 / operand.bits;
  const uint32_t blocks = (top + per_block - 1) / per_block;
  const uint32_t in_last = top - (blocks - 1) * per_block;
  return uint64_t{blocks - 1} * operand.block_stride * kBlockBytes + (in_last * operand.bits + 7) / 8;
}

// A run of lanes, in each repeat.
void touch_run(Instruction& instruction, const Operand& operand, uint32_t first, uint32_t count, uint32_t repeat,
               uint32_t repeats, bool write) {
  const uint32_t per_block = kBlockBytes * 8 / operand.bits;
  const int64_t repeat_stride = int64_t{operand.repeat_stride} * kBlockBytes;
  const int64_t block_stride = int64_t{operand.block_stride} * kBlockBytes;
  const auto* base = static_cast<const std::byte*>(operand.base) + repeat * repeat_stride;
  const auto note = [&](uint32_t lane, uint32_t lanes, uint32_t blocks) {
    const void* from = base + lane / per_block * block_stride + lane % per_block * operand.bits / 8;
    const Region region{from,          (lanes * operand.bits + 7) / 8, blocks, block_stride, repeats, repeat_stride,
                        operand.buffer};
    write ? instruction.writes(operand.name, region) : instruction.reads(operand.name, region);
  };
  if (const uint32_t head = first % per_block; head != 0 || count < per_block) {
    const uint32_t lanes = std::min(count, per_block - head);
    note(first, lanes, 1);
    first += lanes;
    count -= lanes;
  }
  if (const uint32_t blocks = count / per_block; blocks != 0) {
    note(first, per_block, blocks);
    first += blocks * per_block;
    count -= blocks * per_block;
  }
  if (count != 0) touch_run(instruction, operand, first, count, repeat, repeats, write);
}

void touch_lanes(Instruction& instruction, const Operand& operand, const Active& active, uint32_t repeat,
                 uint32_t repeats, bool write) {
  for (uint32_t lane = 0; lane < active.top(); lane++) {
    if (!active.lane(lane)) continue;
    uint32_t end = lane + 1;
    while (end < active.top() && active.lane(end)) end++;
    touch_run(instruction, operand, lane, end - lane, repeat, repeats, write);
    lane = end;
  }
}

void check_place(const char* api, const char* operand, const void* base, uint64_t bytes) {
  const MemorySpan& unified = core().memory[static_cast<size_t>(Memory::kUnified)];
  const uint64_t offset = static_cast<uint64_t>(static_cast<const uint8_t*>(base) - unified.base);
  if (offset >= unified.bytes || bytes > unified.bytes - offset) check_local(api, operand, base, bytes);
}

}  // namespace

Extent resolve(const Lanes& lanes, uint32_t per_repeat) {
  const Registers& registers = core().registers;
  if (lanes.mask == Lanes::Mask::kAll) return contiguous(lanes.low);
  const bool from_register = lanes.mask == Lanes::Mask::kRegister;
  if (registers.mask_counts) return counted(from_register ? registers.mask_low : lanes.low, per_repeat);
  if (from_register) return masked({registers.mask_low, registers.mask_high}, lanes.repeats, per_repeat);
  if (lanes.mask == Lanes::Mask::kBits) return masked({lanes.low, lanes.high}, lanes.repeats, per_repeat);
  const auto first = static_cast<uint32_t>(std::min<uint64_t>(lanes.low, per_repeat));
  return masked(Active::first(first), lanes.repeats, per_repeat);
}

void touch(Instruction& instruction, const char* api, const Operand& operand, const Extent& extent, bool write) {
  const uint64_t bytes =
      extent.is_contiguous
          ? (extent.count * operand.bits + 7) / 8
          : std::max(extent.last.none() ? 0
                                        : uint64_t{extent.repeats - 1} * operand.repeat_stride * kBlockBytes +
                                              reach(operand, extent.last.top()),
                     extent.each.none() ? 0 : reach(operand, extent.each.top()));
  check_place(api, operand.name, operand.base, bytes);
  if (!instruction.active()) return;
  instruction.aligned(operand.name, operand.base, kBlockBytes);
  if (extent.is_contiguous) {
    const Region region{operand.base, static_cast<uint32_t>(bytes), 1, 0, 1, 0, operand.buffer};
    write ? instruction.writes(operand.name, region) : instruction.reads(operand.name, region);
    return;
  }
  if (extent.repeats > 1) touch_lanes(instruction, operand, extent.each, 0, extent.repeats - 1, write);
  touch_lanes(instruction, operand, extent.last, extent.repeats - 1, 1, write);
}

void touch(Instruction& instruction, const char* api, const char* operand, const void* base, uint64_t bytes, bool write,
           uint32_t alignment) {
  check_place(api, operand, base, bytes);
  if (!instruction.active()) return;
  instruction.aligned(operand, base, alignment);
  const Region region{base, static_cast<uint32_t>(bytes)};
  write ? instruction.writes(operand, region) : instruction.reads(operand, region);
}

}  // namespace AscendC::machine::vector
