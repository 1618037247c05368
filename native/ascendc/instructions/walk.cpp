// native/ascendc/instructions/walk.cpp
// The walk of a vector instruction over its repeats, blocks and lanes: what of an operand it touches, and how lanes
// that lie apart are brought together for the arithmetic.
#include <algorithm>
#include <bit>
#include <cstring>

#include "instructions/extent.h"

namespace AscendC::machine::vector {
namespace {

constexpr uint32_t kMaxSources = 4;

std::byte* repeat_base(const Operand& operand, uint32_t repeat) {
  return static_cast<std::byte*>(operand.base) + uint64_t{repeat} * operand.repeat_stride * kBlockBytes;
}

// Lanes of an operand in one block.
uint32_t lanes_per_block(const Operand& operand) { return kBlockBytes * 8 / operand.bits; }

// The operands of one repeat, moved so that lane follows lane.
class Gathered {
 public:
  explicit Gathered(uint32_t lanes) : lanes_(lanes) {}

  const void* source(const Operand& operand, uint32_t repeat, uint32_t index) {
    const std::byte* from = repeat_base(operand, repeat);
    const uint32_t bytes = (lanes_ * operand.bits + 7) / 8;
    for (uint32_t done = 0, block = 0; done < bytes; done += kBlockBytes, block++) {
      const uint64_t offset = uint64_t{block} * operand.block_stride * kBlockBytes;
      std::memcpy(buffers_[index] + done, from + offset, std::min(kBlockBytes, bytes - done));
    }
    return buffers_[index];
  }

  void* destination() { return result_; }

  void scatter(const Operand& operand, uint32_t repeat, const Active& active) const {
    std::byte* to = repeat_base(operand, repeat);
    const uint32_t per_block = lanes_per_block(operand);
    for (uint32_t lane = 0; lane < lanes_; lane++) {
      if (!active.lane(lane)) continue;
      const uint64_t block = uint64_t{lane / per_block} * operand.block_stride * kBlockBytes;
      if (operand.bits < 8) {
        put_nibble(to + block, lane % per_block, nibble(lane));
      } else {
        const uint32_t bytes = operand.bits / 8;
        std::memcpy(to + block + uint64_t{lane % per_block} * bytes, result_ + uint64_t{lane} * bytes, bytes);
      }
    }
  }

 private:
  std::byte nibble(uint32_t lane) const { return result_[lane / 2] >> (lane % 2 * 4) & std::byte{0xF}; }
  static void put_nibble(std::byte* block, uint32_t lane, std::byte value) {
    const int shift = static_cast<int>(lane % 2 * 4);
    std::byte& target = block[lane / 2];
    target = (target & ~(std::byte{0xF} << shift)) | value << shift;
  }

  const uint32_t lanes_;
  alignas(kBlockBytes) std::byte buffers_[kMaxSources][kRepeatBytes];
  alignas(kBlockBytes) std::byte result_[kRepeatBytes];
};

// Whether the first lanes of a repeat follow one another in memory.
bool contiguous(const Operand& operand, uint32_t lanes) {
  return operand.block_stride == 1 || lanes <= lanes_per_block(operand);
}

void run_repeat(Compute compute, const Operand& dst, const Operand* sources, uint32_t source_count,
                const Active& active, uint32_t repeat, const Arguments& arguments) {
  const uint32_t lanes = active.top();
  bool direct = active.is_prefix() && contiguous(dst, lanes);
  for (uint32_t i = 0; i < source_count; i++) direct = direct && contiguous(sources[i], lanes);
  const void* from[kMaxSources];
  if (direct) {
    for (uint32_t i = 0; i < source_count; i++) from[i] = repeat_base(sources[i], repeat);
    compute(lanes, repeat_base(dst, repeat), from, arguments);
    return;
  }
  Gathered gathered(lanes);
  for (uint32_t i = 0; i < source_count; i++) from[i] = gathered.source(sources[i], repeat, i);
  compute(lanes, gathered.destination(), from, arguments);
  gathered.scatter(dst, repeat, active);
}

// Whether repeats of `per_repeat` lanes follow one another without a gap.
bool seamless(const Operand& operand, uint32_t per_repeat) {
  return operand.block_stride == 1 && operand.repeat_stride * kBlockBytes * 8 == per_repeat * operand.bits;
}

void run_all(Compute compute, const Operand& dst, const Operand* sources, uint32_t source_count, uint64_t count,
             const Arguments& arguments) {
  const void* from[kMaxSources];
  for (uint32_t i = 0; i < source_count; i++) from[i] = sources[i].base;
  compute(static_cast<uint32_t>(count), dst.base, from, arguments);
}

}  // namespace

void run(Instruction& instruction, const char* api, Compute compute, const Operand& dst, const Operand* sources,
         uint32_t source_count, const Lanes& lanes, Arguments arguments) {
  const Registers& registers = core().registers;
  arguments.saturates = saturates(registers);
  arguments.wraps = (registers.control >> 59 & 1) != 0;
  arguments.scale = registers.dequantise_scale;
  uint32_t widest = dst.bits;
  for (uint32_t i = 0; i < source_count; i++) widest = std::max(widest, sources[i].bits);
  const Extent extent = resolve(lanes, lanes_per_repeat(widest));
  if (extent.empty()) return;

  for (uint32_t i = 0; i < source_count; i++) touch(instruction, api, sources[i], extent, false);
  touch(instruction, api, dst, extent, true);

  bool merged = extent.full;
  if (extent.repeats > 1 || !extent.is_contiguous) {
    merged = merged && seamless(dst, extent.per_repeat);
    for (uint32_t i = 0; i < source_count; i++) merged = merged && seamless(sources[i], extent.per_repeat);
  }
  if (merged) {
    run_all(compute, dst, sources, source_count, extent.count, arguments);
    return;
  }
  for (uint32_t repeat = 0; repeat < extent.repeats; repeat++) {
    run_repeat(compute, dst, sources, source_count, extent.of_repeat(repeat), repeat, arguments);
  }
}

}  // namespace AscendC::machine::vector
