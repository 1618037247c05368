// native/ascendc/instructions/reduce.cpp
#include "vector/reduce.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "instructions/arithmetic.h"
#include "instructions/lanes.h"

namespace AscendC::machine::vector {
namespace {

constexpr uint32_t kMostLanes = 128;

uint32_t element_bytes(const Reduction& reduction) { return reduction.is_half ? 2 : 4; }

// The lanes of one repeat as floats; those that the mask leaves out hold `filler`.
struct Values {
  float lane[kMostLanes];
  uint32_t count;
};

float load_number(const std::byte* from, bool is_half) {
  if (!is_half) {
    float value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  half value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<float>(value);
}

void store_number(std::byte* to, float value, bool is_half) {
  if (!is_half) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  half rounded;
  narrow(&rounded, &value, 1, saturates(core().registers));
  std::memcpy(to, &rounded, sizeof rounded);
}

float filler_of(ReduceType type) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (type == ReduceType::SUM) return 0;
  return type == ReduceType::MAX ? -kInfinity : kInfinity;
}

void read_repeat(Values& values, const Reduction& reduction, const Operand& src, const Active& active, uint32_t repeat,
                 uint32_t per_repeat) {
  const float filler = filler_of(reduction.type);
  const uint32_t top = active.top();
  values.count = per_repeat;
  std::fill(values.lane + top, values.lane + per_repeat, filler);
  if (active.is_prefix() && (src.block_stride == 1 || top * src.bits <= kBlockBytes * 8)) {
    const std::byte* from = lane_address(src, repeat, 0);
    if (reduction.is_half) {
      widen(values.lane, reinterpret_cast<const half*>(from), top);
    } else {
      std::memcpy(values.lane, from, top * sizeof(float));
    }
    return;
  }
  for (uint32_t lane = 0; lane < top; lane++) {
    values.lane[lane] = active.lane(lane) ? load_number(lane_address(src, repeat, lane), reduction.is_half) : filler;
  }
}

// Sums neighbours, then neighbouring sums, and so on; each sum has the precision of the elements.
float tree_sum(float* lanes, uint32_t count, bool is_half) {
  const bool limits = saturates(core().registers);
  for (; count > 1; count = (count + 1) / 2) {
    for (uint32_t i = 0; i < count / 2; i++) lanes[i] = lanes[2 * i] + lanes[2 * i + 1];
    if (count % 2 != 0) lanes[count / 2] = lanes[count - 1];
    if (!is_half) continue;
    half rounded[kMostLanes];
    narrow(rounded, lanes, (count + 1) / 2, limits);
    widen(lanes, rounded, (count + 1) / 2);
  }
  return lanes[0];
}

struct Best {
  float value;
  uint64_t index;
};

// The first of the largest or smallest. NaN counts as both.
bool beats(ReduceType type, float value, float best) {
  if (value != value) return best == best;
  return type == ReduceType::MAX ? value > best : value < best;
}

Best best_of(const Values& values, ReduceType type, const Active& active) {
  Best best{filler_of(type), 0};
  bool found = false;
  for (uint32_t lane = 0; lane < values.count; lane++) {
    if (!active.lane(lane)) continue;
    if (!found || beats(type, values.lane[lane], best.value)) best = {values.lane[lane], lane};
    found = true;
  }
  return best;
}

// Bytes of a result of ReduceRepeat, and of its two halves.
uint32_t result_bytes(const Reduction& reduction) {
  const uint32_t bytes = element_bytes(reduction);
  if (reduction.type == ReduceType::SUM) return bytes;
  switch (reduction.order) {
    case ReduceOrder::ORDER_ONLY_VALUE:
      return bytes;
    case ReduceOrder::ORDER_ONLY_INDEX:
      return sizeof(uint32_t);
    default:
      return 2 * bytes;
  }
}

void store_best(std::byte* to, const Best& best, const Reduction& reduction) {
  const uint32_t bytes = element_bytes(reduction);
  const auto index = static_cast<uint32_t>(best.index);  // little endian: its first bytes are the half's
  switch (reduction.order) {
    case ReduceOrder::ORDER_ONLY_VALUE:
      return store_number(to, best.value, reduction.is_half);
    case ReduceOrder::ORDER_ONLY_INDEX:
      std::memcpy(to, &index, sizeof index);
      return;
    case ReduceOrder::ORDER_INDEX_VALUE:
      std::memcpy(to, &index, bytes);
      return store_number(to + bytes, best.value, reduction.is_half);
    default:
      store_number(to, best.value, reduction.is_half);
      std::memcpy(to + bytes, &index, bytes);
  }
}

void touch_results(Instruction& instruction, const Reduction& reduction, void* dst, uint32_t repeats, uint32_t bytes,
                   uint32_t unit, uint32_t alignment) {
  const uint64_t stride = uint64_t{reduction.dst_stride} * unit;
  check_local(reduction.api, "dst", dst, (repeats - 1) * stride + bytes);
  instruction.aligned("dst", dst, alignment);
  instruction.writes("dst", Region{dst, bytes, 1, 0, repeats, static_cast<int64_t>(stride)});
}

// The extent of `lanes`, as repeats also where it is contiguous.
Extent repeats_of(const Reduction& reduction, const Lanes& lanes) {
  const uint32_t per_repeat = lanes_per_repeat(8 * element_bytes(reduction));
  const Extent extent = resolve(lanes, per_repeat);
  if (!extent.is_contiguous) return extent;
  const auto repeats = static_cast<uint32_t>((extent.count + per_repeat - 1) / per_repeat);
  const auto rest = static_cast<uint32_t>(extent.count - uint64_t{repeats - 1} * per_repeat);
  return {false, true, repeats, per_repeat, extent.count, Active::first(per_repeat), Active::first(rest)};
}

}  // namespace

void reduce_repeats(Instruction& instruction, const Reduction& reduction, void* dst, const Operand& src,
                    const Lanes& lanes) {
  const Extent extent = repeats_of(reduction, lanes);
  if (extent.empty()) return;
  const uint32_t unit = result_bytes(reduction);
  touch(instruction, reduction.api, src, extent, false);
  touch_results(instruction, reduction, dst, extent.repeats, unit, unit, unit);
  Registers& registers = core().registers;
  Best overall{filler_of(reduction.type), 0};
  for (uint32_t repeat = 0; repeat < extent.repeats; repeat++) {
    const Active& active = extent.of_repeat(repeat);
    Values values;
    read_repeat(values, reduction, src, active, repeat, extent.per_repeat);
    std::byte* to = static_cast<std::byte*>(dst) + uint64_t{repeat} * reduction.dst_stride * unit;
    if (reduction.type == ReduceType::SUM) {
      store_number(to, tree_sum(values.lane, values.count, reduction.is_half), reduction.is_half);
      continue;
    }
    const Best best = best_of(values, reduction.type, active);
    store_best(to, best, reduction);
    if (repeat == 0 || beats(reduction.type, best.value, overall.value)) {
      overall = {best.value, uint64_t{repeat} * extent.per_repeat + best.index};
    }
  }
  if (reduction.type == ReduceType::SUM) return;
  registers.reduce_value = overall.value;
  registers.reduce_index = overall.index;
}

void reduce_blocks(Instruction& instruction, const Reduction& reduction, void* dst, const Operand& src,
                   const Lanes& lanes) {
  const Extent extent = repeats_of(reduction, lanes);
  if (extent.empty()) return;
  const uint32_t bytes = element_bytes(reduction);
  const uint32_t per_block = kBlockBytes / bytes;
  const uint32_t unit = DEFAULT_BLK_NUM * bytes;
  const uint32_t blocks = (extent.last.top() + per_block - 1) / per_block;
  touch(instruction, reduction.api, src, extent, false);
  touch_results(instruction, reduction, dst, extent.repeats, extent.repeats == 1 ? blocks * bytes : unit, unit, unit);
  for (uint32_t repeat = 0; repeat < extent.repeats; repeat++) {
    const Active& active = extent.of_repeat(repeat);
    Values values;
    read_repeat(values, reduction, src, active, repeat, extent.per_repeat);
    std::byte* to = static_cast<std::byte*>(dst) + uint64_t{repeat} * reduction.dst_stride * unit;
    for (uint32_t block = 0; block < DEFAULT_BLK_NUM; block++, to += bytes) {
      float* first = values.lane + block * per_block;
      bool any = false;
      for (uint32_t lane = 0; lane < per_block; lane++) any = any || active.lane(block * per_block + lane);
      if (!any) continue;
      float result = first[0];
      if (reduction.type == ReduceType::SUM) {
        result = tree_sum(first, per_block, reduction.is_half);
      } else {
        for (uint32_t lane = 1; lane < per_block; lane++) {
          result = reduction.type == ReduceType::MAX ? larger(result, first[lane]) : smaller(result, first[lane]);
        }
      }
      store_number(to, result, reduction.is_half);
    }
  }
}

void reduce_pairs(Instruction& instruction, const Reduction& reduction, void* dst, const Operand& src,
                  const Lanes& lanes) {
  if (reduction.type != ReduceType::SUM) refuse(reduction.api, "pairs are summed: the only ReduceType is SUM");
  const Extent extent = repeats_of(reduction, lanes);
  if (extent.empty()) return;
  const uint32_t bytes = element_bytes(reduction);
  constexpr uint32_t kUnit = kRepeatBytes / 2;
  touch(instruction, reduction.api, src, extent, false);
  touch_results(instruction, reduction, dst, extent.repeats,
                extent.repeats == 1 ? (extent.last.top() + 1) / 2 * bytes : kUnit, kUnit, kBlockBytes);
  for (uint32_t repeat = 0; repeat < extent.repeats; repeat++) {
    const Active& active = extent.of_repeat(repeat);
    Values values;
    read_repeat(values, reduction, src, active, repeat, extent.per_repeat);
    std::byte* to = static_cast<std::byte*>(dst) + uint64_t{repeat} * reduction.dst_stride * kUnit;
    for (uint32_t lane = 0; lane < values.count; lane += 2, to += bytes) {
      if (active.lane(lane) || active.lane(lane + 1)) {
        store_number(to, values.lane[lane] + values.lane[lane + 1], reduction.is_half);
      }
    }
  }
}

namespace {

// The device's use of the temporary buffer: a sum per repeat, or an extreme value and its index per repeat.
void touch_shared(Instruction& instruction, const Reduction& reduction, const Operand& shared, const Lanes& lanes,
                  const Extent& extent) {
  const bool sum = reduction.type == ReduceType::SUM;
  if (sum && lanes.mask == Lanes::Mask::kAll) return;  // summed in order, without a buffer
  const uint64_t elements = uint64_t{extent.repeats} * (sum ? 1 : 2);
  const uint64_t bytes = (elements * element_bytes(reduction) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  touch(instruction, reduction.api, shared.name, shared.base, bytes, true);
}

float sum_of_sums(std::vector<float>& sums, const Reduction& reduction, uint32_t per_repeat, bool in_order) {
  if (in_order) {
    float total = 0;
    for (const float sum : sums) total += sum;
    return total;
  }
  while (sums.size() > 1) {
    size_t results = 0;
    for (size_t start = 0; start < sums.size(); start += per_repeat) {
      const auto count = static_cast<uint32_t>(std::min<size_t>(per_repeat, sums.size() - start));
      sums[results++] = tree_sum(&sums[start], count, reduction.is_half);
    }
    sums.resize(results);
  }
  return sums[0];
}

}  // namespace

void reduce_all(Instruction& instruction, const Reduction& reduction, void* dst, const Operand& src,
                const Operand& shared, const Lanes& lanes) {
  const Extent extent = repeats_of(reduction, lanes);
  if (extent.empty() || extent.repeats == 0) return;
  touch(instruction, reduction.api, src, extent, false);
  touch_shared(instruction, reduction, shared, lanes, extent);
  const uint32_t unit = result_bytes(reduction);
  touch_results(instruction, reduction, dst, 1, unit, unit, unit);
  Registers& registers = core().registers;
  std::vector<float> sums;
  Best overall{filler_of(reduction.type), 0};
  for (uint32_t repeat = 0; repeat < extent.repeats; repeat++) {
    const Active& active = extent.of_repeat(repeat);
    Values values;
    read_repeat(values, reduction, src, active, repeat, extent.per_repeat);
    if (reduction.type == ReduceType::SUM) {
      sums.push_back(tree_sum(values.lane, values.count, reduction.is_half));
      continue;
    }
    const Best best = best_of(values, reduction.type, active);
    if (repeat == 0 || beats(reduction.type, best.value, overall.value)) {
      overall = {best.value, uint64_t{repeat} * extent.per_repeat + best.index};
    }
  }
  if (reduction.type == ReduceType::SUM) {
    const bool in_order = lanes.mask == Lanes::Mask::kAll || registers.mask_counts;
    const float total = sum_of_sums(sums, reduction, extent.per_repeat, in_order);
    store_number(static_cast<std::byte*>(dst), total, reduction.is_half);
    registers.reduce_sum = total;
    return;
  }
  store_best(static_cast<std::byte*>(dst), overall, reduction);
  registers.reduce_value = overall.value;
  registers.reduce_index = overall.index;
}

}  // namespace AscendC::machine::vector
