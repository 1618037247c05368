// native/ascendc/kernel/cube/hf32.h
// HF32: floats with a shorter mantissa, which the cube unit multiplies faster.
#pragma once

#include <cstdint>
#include <cstring>

namespace AscendC::machine {

// HF32 keeps 11 of a float's 23 bits of mantissa; ties go to even or towards zero.
inline float round_to_hf32(float value, bool ties_to_zero) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  if ((word & 0x7F800000u) == 0x7F800000u) return value;
  constexpr uint32_t kDropped = 23 - 11;
  const uint32_t even = word >> kDropped & 1u;
  word += (1u << (kDropped - 1)) - 1u + (ties_to_zero ? 0u : even);
  word &= ~((1u << kDropped) - 1u);
  std::memcpy(&value, &word, sizeof value);
  return value;
}

}  // namespace AscendC::machine
