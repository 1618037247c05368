// native/ascendc/instructions/select.cpp
#include "vector/select.h"

#include <cstring>

#include "instructions/lanes.h"

namespace AscendC::machine::vector {
namespace {

constexpr const char* kSelectApi = "Select";

template <class Word>
void select_lanes(const Selection& selection, const uint8_t* bits, const Extent& extent, uint32_t per_repeat) {
  const auto scalar = static_cast<Word>(selection.scalar);
  for_lanes(extent, [&](uint32_t repeat, uint32_t lane, uint64_t number) {
    const uint64_t at = selection.same_bits ? number % per_repeat : number;
    const bool first = (bits[at / 8] >> (at % 8) & 1) != 0;
    Word value = scalar;
    if (first) {
      std::memcpy(&value, lane_address(selection.first, repeat, lane), sizeof value);
    } else if (selection.second.base != nullptr) {
      std::memcpy(&value, lane_address(selection.second, repeat, lane), sizeof value);
    }
    std::memcpy(lane_address(selection.dst, repeat, lane), &value, sizeof value);
  });
}

}  // namespace

void select(Instruction& instruction, const Selection& selection, const Lanes& lanes) {
  const uint32_t per_repeat = lanes_per_repeat(selection.dst.bits);
  const Extent extent = resolve(lanes, per_repeat);
  if (extent.empty()) return;
  touch(instruction, kSelectApi, selection.first, extent, false);
  if (selection.second.base != nullptr) touch(instruction, kSelectApi, selection.second, extent, false);
  const Registers& registers = core().registers;
  const uint64_t words[2] = {registers.compare_low, registers.compare_high};
  const void* bits = selection.bits == nullptr ? words : selection.bits;
  if (selection.bits != nullptr) {
    const uint64_t all =
        extent.is_contiguous ? extent.count : uint64_t{extent.repeats - 1} * per_repeat + extent.last.top();
    const uint64_t used = selection.same_bits ? std::min<uint64_t>(all, per_repeat) : all;
    touch(instruction, kSelectApi, "selMask", bits, (used + 7) / 8, false);
  }
  touch(instruction, kSelectApi, selection.dst, extent, true);
  if (selection.dst.bits == 16) {
    select_lanes<uint16_t>(selection, static_cast<const uint8_t*>(bits), extent, per_repeat);
  } else {
    select_lanes<uint32_t>(selection, static_cast<const uint8_t*>(bits), extent, per_repeat);
  }
}

const void* address_in_compare_register() {
  const MemorySpan& unified = core().memory[static_cast<size_t>(Memory::kUnified)];
  const uint64_t word = core().registers.compare_low;
  const auto base = reinterpret_cast<uint64_t>(unified.base);
  // Kernels store the low 32 bits of an address, which on the device is all of it.
  const uint64_t offset = static_cast<uint32_t>(word - base);
  if (offset >= unified.bytes)
    refuse(kSelectApi, "SetCmpMask has not loaded the address of a selMask in the unified buffer");
  return unified.base + offset;
}

}  // namespace AscendC::machine::vector
