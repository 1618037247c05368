// native/ascendc/instructions/dequantise.cpp
// CastDequant of int16_t, and the names of rounding modes.
#include <bit>
#include <cmath>
#include <string>

#include "instructions/lanes.h"
#include "instructions/numbers.h"
#include "vector/cast.h"

namespace AscendC::machine::vector {
namespace {

constexpr uint32_t kSourceLanes = 16;  // of a block

// The device keeps 10 bits of a scale's significand.
float scale_of(uint64_t word) { return std::bit_cast<float>(static_cast<uint32_t>(word) & 0xFFFFE000u); }

// 9 bits, with a sign.
int32_t offset_of(uint64_t word) { return static_cast<int32_t>(static_cast<uint32_t>(word >> 37) << 23) >> 23; }

uint8_t quantised(int16_t value, uint64_t word) {
  const float scaled = std::nearbyint(static_cast<float>(value) * scale_of(word)) + static_cast<float>(offset_of(word));
  const bool is_signed = (word >> 46 & 1) != 0;
  return is_signed ? static_cast<uint8_t>(saturate<int8_t>(scaled)) : saturate<uint8_t>(scaled);
}

}  // namespace

void dequantise(Instruction& instruction, const char* api, const Operand& dst, const Operand& src, const Lanes& lanes,
                const Dequantisation& how) {
  const Registers& registers = core().registers;
  const Extent extent = resolve(lanes, lanes_per_repeat(16));
  if (extent.empty()) return;
  const uint64_t* words = how.by_vector ? registers.dequantise_vector : &registers.dequantise;
  if (words == nullptr) refuse(api, "no vector of scales is set: call SetDeqScale(vdeq, vdeqInfo) before");
  if (how.by_vector) touch(instruction, api, "vdeq", words, kSourceLanes * sizeof(uint64_t), false);
  touch(instruction, api, src, extent, false);
  // Seen as 16-bit lanes the destination has the source's shape; each lane's byte is in one half of the block.
  Operand to = dst;
  to.bits = 16;
  touch(instruction, api, to, extent, true);
  for_lanes(extent, [&](uint32_t repeat, uint32_t lane, uint64_t) {
    int16_t value;
    std::memcpy(&value, lane_address(src, repeat, lane), sizeof value);
    const uint32_t place = lane % kSourceLanes;
    std::byte* block = lane_address(to, repeat, lane - place);
    const uint64_t word = words[how.by_vector ? place : 0];
    block[place + (how.upper_half ? kSourceLanes : 0)] = std::byte{quantised(value, word)};
  });
}

std::string mode_names(uint32_t modes) {
  static constexpr const char* kNames[] = {"CAST_NONE",  "CAST_RINT",  "CAST_FLOOR", "CAST_CEIL",
                                           "CAST_ROUND", "CAST_TRUNC", "CAST_ODD",   "CAST_HYBRID"};
  std::string text;
  for (size_t mode = 0; mode < std::size(kNames); mode++) {
    if ((modes >> mode & 1) != 0) text += (text.empty() ? "" : ", ") + std::string(kNames[mode]);
  }
  return text;
}

}  // namespace AscendC::machine::vector
