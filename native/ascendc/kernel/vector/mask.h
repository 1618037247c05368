// native/ascendc/kernel/vector/mask.h
// Registers that vector instructions read: the mask and its mode, and the control bits for saturation.
#pragma once

#include "core/machine.h"
#include "vector/params.h"

namespace AscendC {

OPWRIGHT_INLINE void SetMaskCount() { machine::core().registers.mask_counts = true; }
OPWRIGHT_INLINE void SetMaskNorm() { machine::core().registers.mask_counts = false; }

template <typename T, MaskMode mode = MaskMode::NORMAL>
OPWRIGHT_INLINE void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow) {
  machine::core().registers.mask_high = maskHigh;
  machine::core().registers.mask_low = maskLow;
}
// Normal mode: how many lanes of a repeat. Counter mode: how many elements in all.
template <typename T, MaskMode mode = MaskMode::NORMAL>
OPWRIGHT_INLINE void SetVectorMask(int32_t len) {
  const auto count = static_cast<uint32_t>(len);
  if constexpr (mode == MaskMode::COUNTER) {
    SetVectorMask<T, mode>(0, count);
  } else {
    const auto ones = [](uint32_t lanes) { return lanes >= 64 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1; };
    SetVectorMask<T, mode>(count > 64 ? ones(count - 64) : 0, ones(count));
  }
}
OPWRIGHT_INLINE void ResetMask() {
  machine::core().registers.mask_high = ~uint64_t{0};
  machine::core().registers.mask_low = ~uint64_t{0};
}

// ---- CTRL. Of its bits Atlas A2 documents 48: whether inf and NaN stay as they are.

template <int8_t startBit, int8_t endBit>
OPWRIGHT_INLINE void SetCtrlSpr(int64_t value) {
  static_assert(startBit == 48 && endBit == 48,
                "SetCtrlSpr: Atlas A2 has bit 48 of CTRL only; docs/ascend_c_instructions.md");
  constexpr uint64_t bit = uint64_t{1} << startBit;
  uint64_t& control = machine::core().registers.control;
  control = value != 0 ? control | bit : control & ~bit;
}
template <int8_t startBit, int8_t endBit>
OPWRIGHT_INLINE int64_t GetCtrlSpr() {
  constexpr int width = endBit - startBit + 1;
  const uint64_t bits = machine::core().registers.control >> startBit;
  return static_cast<int64_t>(width >= 64 ? bits : bits & ((uint64_t{1} << width) - 1));
}

namespace machine::vector {
constexpr int saturation_bit(SaturationMode mode) { return mode == SaturationMode::FLOAT ? 48 : 59; }
}  // namespace machine::vector

// FLOAT: what half and bfloat16_t cannot hold becomes the largest number, and NaN 0. CAST: integers likewise.
template <SaturationMode mode>
OPWRIGHT_INLINE void SetSaturationFlag(bool enableSat) {
  constexpr uint64_t bit = uint64_t{1} << machine::vector::saturation_bit(mode);
  uint64_t& control = machine::core().registers.control;
  control = enableSat ? control & ~bit : control | bit;
}
template <SaturationMode mode>
OPWRIGHT_INLINE bool GetSaturationFlag() {
  return (machine::core().registers.control >> machine::vector::saturation_bit(mode) & 1) == 0;
}

// Of a class for the library's own use, what published kernels call: 1 leaves inf and NaN as they are.
struct AscendCUtils {
  static OPWRIGHT_INLINE void SetOverflow(uint64_t ctrlValue) { SetCtrlSpr<48, 48>(ctrlValue == 1 ? 1 : 0); }
  template <typename T, bool isSetMask = true>
  static OPWRIGHT_INLINE void SetMask(uint64_t maskHigh, uint64_t maskLow) {
    if constexpr (isSetMask) SetVectorMask<T>(maskHigh, maskLow);
  }
  template <typename T, bool isSetMask = true>
  static OPWRIGHT_INLINE void SetMask(int32_t len) {
    if constexpr (isSetMask) SetVectorMask<T>(len);
  }
  static OPWRIGHT_INLINE void ResetMask() { AscendC::ResetMask(); }
};

}  // namespace AscendC
