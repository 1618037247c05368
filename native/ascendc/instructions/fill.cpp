// native/ascendc/instructions/fill.cpp
// Duplicate, CreateVecIndex, Brcb.
#include "vector/fill.h"

#include <algorithm>
#include <cstring>

#include "instructions/lanes.h"
#include "instructions/numbers.h"

namespace AscendC::machine::vector {
namespace {

template <class T>
T value_of(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The value of the lane with a number.
template <class T>
T counted(const Fill& with, uint64_t number) {
  const T first = value_of<T>(with.first);
  const T step = value_of<T>(with.step);
  if constexpr (std::is_integral_v<T>) {
    return wrap<T>(int64_t{first} + static_cast<int64_t>(number) * int64_t{step});
  } else {
    return static_cast<T>(static_cast<float>(first) + static_cast<float>(number) * static_cast<float>(step));
  }
}

template <class T>
void fill_lanes(const Operand& dst, const Extent& extent, const Fill& with) {
  const T first = value_of<T>(with.first);
  if (extent.is_contiguous && !with.counts) {
    std::fill_n(static_cast<T*>(dst.base), extent.count, first);
    return;
  }
  for_lanes(extent, [&](uint32_t repeat, uint32_t lane, uint64_t number) {
    const T value = with.counts ? counted<T>(with, number) : first;
    std::memcpy(lane_address(dst, repeat, lane), &value, sizeof value);
  });
}

}  // namespace

void fill(Instruction& instruction, const char* api, const Operand& dst, const Lanes& lanes, const Fill& with) {
  const Extent extent = resolve(lanes, lanes_per_repeat(dst.bits));
  if (extent.empty()) return;
  touch(instruction, api, dst, extent, true);
  if (with.bytes == 2) {
    with.is_float ? fill_lanes<half>(dst, extent, with) : fill_lanes<int16_t>(dst, extent, with);
  } else {
    with.is_float ? fill_lanes<float>(dst, extent, with) : fill_lanes<int32_t>(dst, extent, with);
  }
}

void spread(Instruction& instruction, const Operand& dst, const Operand& src, uint32_t repeats) {
  if (repeats == 0) return;
  const uint32_t bytes = src.bits / 8;
  touch(instruction, "Brcb", src.name, src.base, uint64_t{repeats} * DEFAULT_BLK_NUM * bytes, false);
  const uint32_t lanes = lanes_per_repeat(dst.bits);
  const Extent extent = resolve({Lanes::Mask::kBits, repeats, ~uint64_t{0}, ~uint64_t{0}}, lanes);
  touch(instruction, "Brcb", dst, extent, true);
  for (uint32_t number = 0; number < repeats * DEFAULT_BLK_NUM; number++) {
    const auto* value = static_cast<const std::byte*>(src.base) + uint64_t{number} * bytes;
    std::byte* block = lane_address(dst, number / DEFAULT_BLK_NUM, number % DEFAULT_BLK_NUM * (kBlockBytes / bytes));
    for (uint32_t at = 0; at < kBlockBytes; at += bytes) std::memcpy(block + at, value, bytes);
  }
}

}  // namespace AscendC::machine::vector
