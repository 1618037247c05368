// native/ascendc/kernel/core/scalar.h
// Computation with single values, and accesses to single values of global memory.
#pragma once

#include <cmath>

#include "core/global_tensor.h"

namespace AscendC {

template <int countValue>
OPWRIGHT_INLINE int64_t GetBitCount(uint64_t value) {
  static_assert(countValue == 0 || countValue == 1, "GetBitCount counts zeros or ones");
  const int ones = __builtin_popcountll(value);
  return countValue == 1 ? ones : 64 - ones;
}
OPWRIGHT_INLINE int64_t CountLeadingZero(uint64_t value) { return value == 0 ? 64 : __builtin_clzll(value); }
// -1 for all zeros and all ones.
OPWRIGHT_INLINE int64_t CountBitsCntSameAsSignBit(int64_t value) {
  return value == 0 || value == -1 ? -1 : __builtin_clrsbll(value);
}
template <int countValue>
OPWRIGHT_INLINE int64_t GetSFFValue(uint64_t value) {
  static_assert(countValue == 0 || countValue == 1, "GetSFFValue finds a zero or a one");
  const uint64_t wanted = countValue == 1 ? value : ~value;
  return wanted == 0 ? -1 : __builtin_ctzll(wanted);
}
OPWRIGHT_INLINE constexpr int32_t CeilDivision(int32_t a, int32_t b) { return b == 0 ? a : (a + b - 1) / b; }
template <int count = 1>
OPWRIGHT_INLINE void Nop() {}

OPWRIGHT_INLINE bfloat16_t ToBfloat16(const float& value) { return bfloat16_t(value); }
OPWRIGHT_INLINE float ToFloat(const bfloat16_t& value) { return static_cast<float>(value); }
OPWRIGHT_INLINE bfloat16_t Cast(const float& value) { return bfloat16_t(value); }
OPWRIGHT_INLINE float Cast(const bfloat16_t& value) { return static_cast<float>(value); }

template <class T>
OPWRIGHT_INLINE T ReadGmByPassDCache(__gm__ T* address) {
  GlobalTensor<T> tensor;
  tensor.SetGlobalBuffer(address);
  return tensor.GetValue(0);
}
template <class T>
OPWRIGHT_INLINE void WriteGmByPassDCache(__gm__ T* address, T value) {
  T* const target = machine::host_address(address);
  machine::check_global("WriteGmByPassDCache", "element", target, sizeof(T));
  machine::scalar_access("WriteGmByPassDCache", target, sizeof(T), true);
  *target = value;
}

}  // namespace AscendC
