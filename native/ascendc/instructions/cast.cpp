// native/ascendc/instructions/cast.cpp
// The rows of Cast in vector/table.h.
#include "instructions/numbers.h"
#include "instructions/rounding.h"
#include "vector/operations.h"

namespace AscendC::machine::vector {
namespace {

template <class T>
inline constexpr bool kIsNibble = std::is_same_v<T, int4b_t>;

// Lanes of S as floats.
template <class S>
const float* floats(const void* source, uint32_t start, uint32_t count, float* buffer) {
  if constexpr (kIsNibble<S>) {
    for (uint32_t i = 0; i < count; i++) buffer[i] = read_nibble(source, start + i);
  } else if constexpr (kIsSmallFloat<S>) {
    widen(buffer, static_cast<const S*>(source) + start, count);
  } else if constexpr (std::is_same_v<S, float>) {
    return static_cast<const float*>(source) + start;
  } else {
    const S* lanes = static_cast<const S*>(source) + start;
    for (uint32_t i = 0; i < count; i++) buffer[i] = static_cast<float>(lanes[i]);
  }
  return buffer;
}

void store_nibbles(void* dst, uint32_t start, const float* whole, uint32_t count, bool wraps) {
  uint8_t* bytes = static_cast<uint8_t*>(dst) + start / 2;
  const auto number = [&](uint32_t i) {
    if (i >= count) return uint8_t{0};
    const float limited = wraps ? whole[i] : std::clamp(whole[i] != whole[i] ? 0.0f : whole[i], -8.0f, 7.0f);
    return static_cast<uint8_t>(static_cast<int64_t>(limited) & 0xF);
  };
  for (uint32_t i = 0; i < count; i += 2) bytes[i / 2] = static_cast<uint8_t>(number(i) | number(i + 1) << 4);
}

// A whole number as D: what does not fit becomes the nearest number, or keeps its low bits.
template <class D>
void store_integers(void* dst, uint32_t start, const float* whole, uint32_t count, bool wraps) {
  D* lanes = static_cast<D*>(dst) + start;
  if (wraps) {
    for (uint32_t i = 0; i < count; i++) lanes[i] = static_cast<D>(saturate<int64_t>(whole[i]));
  } else {
    for (uint32_t i = 0; i < count; i++) lanes[i] = saturate<D>(whole[i]);
  }
}

// From a number to whole numbers.
template <class D, class S>
void to_integers(uint32_t count, void* dst, const void* source, const Arguments& arguments) {
  with_rounding(static_cast<RoundMode>(arguments.mode), [&](auto rounding) {
    float buffer[kBatch];
    float whole[kBatch];
    for (uint32_t start = 0; start < count; start += kBatch) {
      const uint32_t size = std::min(kBatch, count - start);
      const float* from = floats<S>(source, start, size, buffer);
      for (uint32_t i = 0; i < size; i++) whole[i] = to_whole<decltype(rounding)::kMode>(from[i]);
      if constexpr (kIsNibble<D>) {
        store_nibbles(dst, start, whole, size, arguments.wraps);
      } else if constexpr (std::is_same_v<D, float>) {
        std::copy_n(whole, size, static_cast<float*>(dst) + start);
      } else {
        store_integers<D>(dst, start, whole, size, arguments.wraps);
      }
    }
  });
}

bool to_nearest(const Arguments& arguments) {
  const auto mode = static_cast<RoundMode>(arguments.mode);
  return mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT;
}

// From a number to half: what half can hold exactly, and rounding to nearest even, need no care.
template <class S>
void to_halves(uint32_t count, void* dst, const void* source, const Arguments& arguments) {
  float buffer[kBatch];
  half* lanes = static_cast<half*>(dst);
  for (uint32_t start = 0; start < count; start += kBatch) {
    const uint32_t size = std::min(kBatch, count - start);
    const float* from = floats<S>(source, start, size, buffer);
    if (to_nearest(arguments)) {
      narrow(lanes + start, from, size, arguments.saturates);
      continue;
    }
    with_rounding(static_cast<RoundMode>(arguments.mode), [&](auto rounding) {
      for (uint32_t i = 0; i < size; i++) lanes[start + i] = to_half<decltype(rounding)::kMode>(from[i]);
    });
    if (!arguments.saturates) continue;
    float rounded[kBatch];
    widen(rounded, lanes + start, size);
    narrow(lanes + start, rounded, size, true);
  }
}

// int32_t to half multiplies by the scale of SetDeqScale.
void dequantise(uint32_t count, void* dst, const void* source, const Arguments& arguments) {
  float buffer[kBatch];
  for (uint32_t start = 0; start < count; start += kBatch) {
    const uint32_t size = std::min(kBatch, count - start);
    const auto* from = static_cast<const int32_t*>(source) + start;
    for (uint32_t i = 0; i < size; i++) buffer[i] = static_cast<float>(from[i]) * arguments.scale;
    narrow(static_cast<half*>(dst) + start, buffer, size, arguments.saturates);
  }
}

constexpr float kLargestBfloat16 = 3.3895314e38f;

void to_bfloat16s(uint32_t count, void* dst, const void* source, const Arguments& arguments) {
  const auto* from = static_cast<const float*>(source);
  auto* lanes = static_cast<bfloat16_t*>(dst);
  with_rounding(static_cast<RoundMode>(arguments.mode), [&](auto rounding) {
    for (uint32_t i = 0; i < count; i++) {
      bfloat16_t number = to_bfloat16<decltype(rounding)::kMode>(from[i]);
      if (arguments.saturates) {
        const auto value = static_cast<float>(number);
        if (value != value) number.bits = 0;
        if (std::isinf(value)) number = bfloat16_t(std::copysign(kLargestBfloat16, value));
      }
      lanes[i] = number;
    }
  });
}

// Integers to float.
template <class S>
void to_floats(uint32_t count, void* dst, const void* source, const Arguments& arguments) {
  const S* from = static_cast<const S*>(source);
  auto* lanes = static_cast<float*>(dst);
  if (to_nearest(arguments)) {
    for (uint32_t i = 0; i < count; i++) lanes[i] = static_cast<float>(from[i]);
    return;
  }
  with_rounding(static_cast<RoundMode>(arguments.mode), [&](auto rounding) {
    for (uint32_t i = 0; i < count; i++) lanes[i] = to_precision<decltype(rounding)::kMode>(from[i], 24);
  });
}

// From integers to integers.
template <class D, class S>
void between_integers(uint32_t count, void* dst, const void* source, const Arguments& arguments) {
  const S* from = static_cast<const S*>(source);
  D* lanes = static_cast<D*>(dst);
  for (uint32_t i = 0; i < count; i++) {
    const auto limited = std::clamp<int64_t>(from[i], std::numeric_limits<D>::min(), std::numeric_limits<D>::max());
    lanes[i] = static_cast<D>(arguments.wraps ? static_cast<int64_t>(from[i]) : limited);
  }
}

// float to int64_t and to int32_t keep all of float's bits; so does whatever is widened.
template <class D, class S>
void convert(uint32_t count, void* dst, const void* source, const Arguments& arguments) {
  if constexpr (std::is_same_v<D, half> && std::is_same_v<S, int32_t>) {
    dequantise(count, dst, source, arguments);
  } else if constexpr (std::is_same_v<D, half>) {
    to_halves<S>(count, dst, source, arguments);
  } else if constexpr (std::is_same_v<D, bfloat16_t>) {
    to_bfloat16s(count, dst, source, arguments);
  } else if constexpr (std::is_same_v<D, float> && kIsSmallFloat<S>) {
    widen(static_cast<float*>(dst), static_cast<const S*>(source), count);
  } else if constexpr (std::is_same_v<D, float> && std::is_integral_v<S>) {
    to_floats<S>(count, dst, source, arguments);
  } else if constexpr (std::is_integral_v<D> && std::is_integral_v<S>) {
    between_integers<D, S>(count, dst, source, arguments);
  } else {
    to_integers<D, S>(count, dst, source, arguments);
  }
}

}  // namespace

#define OPWRIGHT_CAST_ROW(operation, D, S)                                                                            \
  template <>                                                                                                         \
  OPWRIGHT_RUNTIME void compute<Operation::k##operation, D, S>(uint32_t count, void* dst, const void* const* sources, \
                                                               const Arguments& arguments) {                          \
    convert<D, S>(count, dst, sources[0], arguments);                                                                 \
  }
OPWRIGHT_VECTOR_CAST_ROWS(OPWRIGHT_CAST_ROW)

}  // namespace AscendC::machine::vector
