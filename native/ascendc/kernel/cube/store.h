// native/ascendc/kernel/cube/store.h
// A result on its way out of L0C: ReLU, quantisation or conversion, and atomic updates of global memory.
#pragma once

#include <cmath>
#include <limits>

#include "cube/fractal.h"
#include "cube/params.h"
#include "cube/use.h"

namespace AscendC::machine {

// The quantisation word: bits 0-31 a float of which the hardware uses (1, 8, 10) bits, 32-35 a shift less one, 36
// whether to shift, 37-45 a signed offset, 46 whether the result is signed.
struct QuantWord {
  uint64_t bits;

  float scale() const {
    const auto word = static_cast<uint32_t>(bits) & 0xFFFFE000u;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  bool shifts() const { return (bits >> 36 & 1) != 0; }
  uint32_t shift() const { return static_cast<uint32_t>(bits >> 32 & 0xF) + 1; }
  int32_t offset() const { return static_cast<int32_t>(static_cast<uint32_t>(bits >> 37 & 0x1FF) << 23) >> 23; }
  bool is_signed() const { return (bits >> 46 & 1) != 0; }
};

inline float shifted(int32_t value, QuantWord word) {
  if (!word.shifts()) return static_cast<float>(value);
  const int32_t small = value >> word.shift();
  constexpr int32_t kMost = std::numeric_limits<int16_t>::max();
  return static_cast<float>(small > kMost ? kMost : small < -kMost - 1 ? -kMost - 1 : small);
}
inline float shifted(float value, QuantWord) { return value; }

template <class D>
D saturated(float value) {
  if (std::isnan(value)) return D{};
  const float rounded = std::nearbyintf(value);
  constexpr float kLow = static_cast<float>(std::numeric_limits<D>::min());
  constexpr float kHigh = static_cast<float>(std::numeric_limits<D>::max());
  return static_cast<D>(rounded < kLow ? kLow : rounded > kHigh ? kHigh : rounded);
}

// Finite where it overflows, unless CTRL[48] says that infinities stay.
inline float saturated_half(float value) {
  constexpr uint64_t kKeepInfinities = uint64_t{1} << 48;
  if ((core().registers.control & kKeepInfinities) != 0) return value;
  constexpr float kMost = 65504.0f;
  if (std::isnan(value)) return 0.0f;
  return value > kMost ? kMost : value < -kMost ? -kMost : value;
}

constexpr bool per_channel(QuantMode_t mode) {
  return mode == QuantMode_t::VREQ8 || mode == QuantMode_t::VDEQF16 || mode == QuantMode_t::VQF322B8_PRE;
}

// Which modes turn S of L0C to D.
template <class D, class S>
constexpr bool mode_fits(QuantMode_t mode) {
  constexpr bool from_float = std::is_same_v<S, float>;
  if constexpr (std::is_same_v<D, S>) return mode == QuantMode_t::NoQuant;
  if constexpr (std::is_same_v<D, half>) {
    return from_float ? mode == QuantMode_t::F322F16 : mode == QuantMode_t::DEQF16 || mode == QuantMode_t::VDEQF16;
  }
  if constexpr (std::is_same_v<D, bfloat16_t>) return from_float && mode == QuantMode_t::F322BF16;
  if constexpr (std::is_same_v<D, int8_t> || std::is_same_v<D, uint8_t>) {
    return from_float ? mode == QuantMode_t::QF322B8_PRE || mode == QuantMode_t::VQF322B8_PRE
                      : mode == QuantMode_t::REQ8 || mode == QuantMode_t::VREQ8;
  }
  return false;
}

template <class D, class S>
void demand_mode(const char* api, QuantMode_t mode) {
  if (mode_fits<D, S>(mode)) return;
  constexpr bool from_float = std::is_same_v<S, float>;
  const char* allowed = std::is_same_v<D, S>            ? "NoQuant"
                        : std::is_same_v<D, bfloat16_t> ? "F322BF16"
                        : std::is_same_v<D, half>       ? (from_float ? "F322F16" : "DEQF16, VDEQF16")
                        : from_float                    ? "QF322B8_PRE, VQF322B8_PRE"
                                                        : "REQ8, VREQ8";
  refuse(api, "quantPre is ", static_cast<int>(mode), ", which does not give the type of dst; allowed: ", allowed);
}

template <class D, class S>
OPWRIGHT_INLINE D converted(S value, QuantWord word, bool relu) {
  if (relu && value < S{}) value = S{};
  if constexpr (std::is_same_v<D, S>) {
    return value;
  } else if constexpr (std::is_same_v<D, half>) {
    if constexpr (std::is_same_v<S, float>) {
      return static_cast<half>(saturated_half(value));
    } else {
      return static_cast<half>(saturated_half(shifted(value, word) * word.scale()));
    }
  } else if constexpr (std::is_same_v<D, bfloat16_t>) {
    return bfloat16_t(value);
  } else {
    const float scaled = shifted(value, word) * word.scale();
    return saturated<D>(std::nearbyintf(scaled) + static_cast<float>(word.offset()));
  }
}

// ---- atomic updates: several blocks may write one element at the same time

template <class T>
OPWRIGHT_INLINE T combined(T old, T value, Update update) {
  if constexpr (std::is_same_v<T, bfloat16_t>) {
    const float a = static_cast<float>(old);
    const float b = static_cast<float>(value);
    return update == Update::kAdd ? bfloat16_t(a + b)
                                  : bfloat16_t(update == Update::kMax ? (a > b ? a : b) : (a < b ? a : b));
  } else {
    if (update == Update::kAdd) return static_cast<T>(old + value);
    return update == Update::kMax ? (old > value ? old : value) : (old < value ? old : value);
  }
}

template <class T>
OPWRIGHT_INLINE void update(T* address, T value, Update how) {
  if (how == Update::kSet) {
    *address = value;
    return;
  }
  using Word = std::conditional_t<sizeof(T) == 1, uint8_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;
  auto* word = reinterpret_cast<Word*>(address);
  Word expected = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    T old;
    std::memcpy(&old, &expected, sizeof old);
    const T result = combined(old, value, how);
    Word desired;
    std::memcpy(&desired, &result, sizeof desired);
    if (__atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
  }
}

// The update that SetAtomicAdd or a function like it asked for.
OPWRIGHT_INLINE Update atomic_update() { return core().registers.atomic_operation; }

}  // namespace AscendC::machine
