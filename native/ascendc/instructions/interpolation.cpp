// native/ascendc/instructions/interpolation.cpp
#include "vector/interpolation.h"

#include <cstring>

#include "instructions/lanes.h"
#include "instructions/numbers.h"

namespace AscendC::machine::vector {
namespace {

constexpr const char* kInterpolationApi = "BilinearInterpolation";
constexpr uint32_t kLanes = 128;
constexpr uint32_t kPerBlock = 16;

float rounded(float value, bool limits) {
  half result;
  narrow(&result, &value, 1, limits);
  return static_cast<float>(result);
}

float number_at(const Operand& operand, uint64_t index) {
  half value;
  std::memcpy(&value, static_cast<const std::byte*>(operand.base) + index * sizeof value, sizeof value);
  return static_cast<float>(value);
}

}  // namespace

void interpolate(Instruction& instruction, const Operand& dst, const Operand& src, const Operand& offsets,
                 const Operand& weights, const Operand& shared, const Lanes& lanes, const Interpolation& how) {
  const Extent extent = resolve(lanes, kLanes);
  const uint32_t terms = how.horizontal * how.vertical;
  if (terms == 0 || extent.empty()) return;
  const uint32_t blocks = terms * DEFAULT_BLK_NUM;
  touch(instruction, kInterpolationApi, offsets.name, offsets.base, uint64_t{blocks} * sizeof(uint32_t), false);
  touch(instruction, kInterpolationApi, weights.name, weights.base,
        uint64_t{how.weight_per_block ? blocks : terms} * sizeof(half), false);
  touch(instruction, kInterpolationApi, shared.name, shared.base, uint64_t{blocks} * kBlockBytes, true);
  const auto offset_of = [&](uint32_t block) {
    uint32_t value;
    std::memcpy(&value, static_cast<const std::byte*>(offsets.base) + block * sizeof value, sizeof value);
    return value;
  };
  for (uint32_t block = 0; block < blocks; block++) {
    touch(instruction, kInterpolationApi, src.name, static_cast<const std::byte*>(src.base) + offset_of(block),
          kBlockBytes, false);
  }
  const bool limits = saturates(core().registers);
  for (uint32_t v = 0; v < how.vertical; v++) {
    Operand to = dst;
    to.base = static_cast<std::byte*>(dst.base) + uint64_t{v} * how.vertical_stride * sizeof(half);
    touch(instruction, kInterpolationApi, to, extent, true);
    for_lanes(extent, [&](uint32_t repeat, uint32_t lane, uint64_t) {
      float sum = 0;
      for (uint32_t h = 0; h < how.horizontal; h++) {
        const uint32_t term = v * how.horizontal + h;
        const uint32_t block = term * DEFAULT_BLK_NUM + lane / kPerBlock;
        const float weight = number_at(weights, how.weight_per_block ? block : term);
        const float value = number_at(src, offset_of(block) / sizeof(half) + lane % kPerBlock);
        const float product = rounded(value * weight, limits);
        sum = h == 0 ? product : rounded(sum + product, limits);
      }
      half result;
      narrow(&result, &sum, 1, limits);
      std::memcpy(lane_address(to, repeat, lane), &result, sizeof result);
    });
  }
}

}  // namespace AscendC::machine::vector
