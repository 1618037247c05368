// native/ascendc/instructions/compare.cpp
// Compare, Compares and the compare register.
#include "vector/compare.h"

#ifdef __AVX__
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "instructions/lanes.h"
#include "instructions/numbers.h"

namespace AscendC::machine::vector {
namespace {

using FloatLanes = float __attribute__((vector_size(32)));
using LaneMask = int32_t __attribute__((vector_size(32)));  // -1 or 0

FloatLanes load_lanes(const float* from) {
  FloatLanes values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

uint32_t bits_of(LaneMask lanes) {
#ifdef __AVX__
  return static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(lanes)));
#else
  constexpr LaneMask kBits = {1, 2, 4, 8, 16, 32, 64, 128};
  const LaneMask set = lanes & kBits;
  uint32_t bits = 0;
  for (int i = 0; i < 8; i++) bits |= static_cast<uint32_t>(set[i]);
  return bits;
#endif
}

template <class Test>
Active bits_of_floats(const float* a, const float* b, uint32_t lanes, Test test) {
  uint64_t words[2] = {0, 0};
  for (uint32_t i = 0; i < lanes; i += 8) {
    words[i / 64] |= uint64_t{bits_of(test(load_lanes(a + i), load_lanes(b + i)))} << (i % 64);
  }
  return {words[0], words[1]};
}

// NaN differs from everything, itself too.
Active compare_floats(CMPMODE mode, const float* a, const float* b, uint32_t lanes) {
  switch (mode) {
    case CMPMODE::LT:
      return bits_of_floats(a, b, lanes, [](FloatLanes x, FloatLanes y) { return x < y; });
    case CMPMODE::GT:
      return bits_of_floats(a, b, lanes, [](FloatLanes x, FloatLanes y) { return x > y; });
    case CMPMODE::EQ:
      return bits_of_floats(a, b, lanes, [](FloatLanes x, FloatLanes y) { return x == y; });
    case CMPMODE::LE:
      return bits_of_floats(a, b, lanes, [](FloatLanes x, FloatLanes y) { return x <= y; });
    case CMPMODE::GE:
      return bits_of_floats(a, b, lanes, [](FloatLanes x, FloatLanes y) { return x >= y; });
    default:
      return bits_of_floats(a, b, lanes, [](FloatLanes x, FloatLanes y) { return x != y; });
  }
}

Active equal_integers(const int32_t* a, const int32_t* b, uint32_t lanes) {
  uint64_t word = 0;
  for (uint32_t i = 0; i < lanes; i++) word |= static_cast<uint64_t>(a[i] == b[i]) << i;
  return {word, 0};
}

// The first lanes of one repeat of an operand, lane behind lane; a scalar in all of them.
class Row {
 public:
  Row(const Operand& operand, uint64_t scalar, uint32_t repeat, uint32_t lanes) {
    const uint32_t bytes = operand.bits / 8;
    for (uint32_t at = 0; at < lanes * bytes; at += operand.base == nullptr ? bytes : kBlockBytes) {
      if (operand.base == nullptr) {
        std::memcpy(bytes_ + at, &scalar, bytes);
      } else {
        std::memcpy(bytes_ + at, lane_address(operand, repeat, at / bytes), kBlockBytes);
      }
    }
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes_);
  }

 private:
  alignas(kBlockBytes) std::byte bytes_[kRepeatBytes] = {};
};

Active compare_repeat(const Comparison& comparison, uint32_t repeat, uint32_t lanes) {
  const Row a(comparison.first, 0, repeat, lanes);
  const Row b(comparison.second, comparison.scalar, repeat, lanes);
  switch (comparison.element) {
    case Element::kFloat:
      return compare_floats(comparison.mode, a.as<float>(), b.as<float>(), 64);
    case Element::kInt32:
      return equal_integers(a.as<int32_t>(), b.as<int32_t>(), 64);
    default:
      float wide[2][128];
      widen(wide[0], a.as<half>(), 128);
      widen(wide[1], b.as<half>(), 128);
      return compare_floats(comparison.mode, wide[0], wide[1], 128);
  }
}

void check(const Comparison& comparison) {
  if (comparison.element == Element::kInt32 && comparison.mode != CMPMODE::EQ) {
    refuse(comparison.api, "int32_t is compared with CMPMODE::EQ only");
  }
}

// All lanes of the repeats: the mask has no effect, and what does not fill a repeat is left out.
Extent whole_repeats(const Comparison& comparison, const Lanes& lanes, uint32_t per_repeat) {
  uint32_t repeats = lanes.repeats;
  const Registers& registers = core().registers;
  if (lanes.mask == Lanes::Mask::kAll) {
    repeats = static_cast<uint32_t>(lanes.low / per_repeat);
    if (lanes.low % per_repeat != 0 && core().checks) {
      refuse(comparison.api, "count is ", lanes.low, ": the elements behind the last whole 256 bytes (", per_repeat,
             " elements) are not compared; give a multiple of ", per_repeat);
    }
  } else if (registers.mask_counts) {
    const uint64_t count = lanes.mask == Lanes::Mask::kRegister ? registers.mask_low : lanes.low;
    repeats = static_cast<uint32_t>((count + per_repeat - 1) / per_repeat);
  }
  const Active all = Active::first(per_repeat);
  return {false, true, repeats, per_repeat, uint64_t{repeats} * per_repeat, all, all};
}

}  // namespace

void compare(Instruction& instruction, const Comparison& comparison, const char* dst_name, void* dst,
             const Lanes& lanes) {
  check(comparison);
  const uint32_t per_repeat = lanes_per_repeat(comparison.first.bits);
  const Extent extent = whole_repeats(comparison, lanes, per_repeat);
  if (extent.empty()) return;
  touch(instruction, comparison.api, comparison.first, extent, false);
  if (comparison.second.base != nullptr) touch(instruction, comparison.api, comparison.second, extent, false);
  const uint32_t bytes = per_repeat / 8;
  touch(instruction, comparison.api, dst_name, dst, uint64_t{extent.repeats} * bytes, true);
  for (uint32_t repeat = 0; repeat < extent.repeats; repeat++) {
    const Active bits = compare_repeat(comparison, repeat, per_repeat);
    std::memcpy(static_cast<std::byte*>(dst) + uint64_t{repeat} * bytes, &bits, bytes);
  }
}

void compare_to_register(Instruction& instruction, const Comparison& comparison, const Lanes& lanes) {
  check(comparison);
  const Extent extent = resolve(lanes, lanes_per_repeat(comparison.first.bits));
  if (extent.empty()) return;
  touch(instruction, comparison.api, comparison.first, extent, false);
  touch(instruction, comparison.api, comparison.second, extent, false);
  const Active& used = extent.of_repeat(0);
  const Active bits = compare_repeat(comparison, 0, used.top());
  core().registers.compare_low = bits.low & used.low;
  core().registers.compare_high = bits.high & used.high;
}

void store_compare_register(Instruction& instruction, void* dst) {
  const uint64_t words[2] = {core().registers.compare_low, core().registers.compare_high};
  touch(instruction, "GetCmpMask", "dst", dst, sizeof words, true);
  std::memcpy(dst, words, sizeof words);
}

void load_compare_register(Instruction& instruction, const void* src) {
  uint64_t words[2];
  touch(instruction, "SetCmpMask", "src", src, sizeof words, false);
  std::memcpy(words, src, sizeof words);
  core().registers.compare_low = words[0];
  core().registers.compare_high = words[1];
}

}  // namespace AscendC::machine::vector
