// native/sparse_attention/attention/vector.h
// Vectors of OPWRIGHT_LANES floats in the compiler's own notation, and what attention needs of them. Compiled once for
// each instruction set: everything here has internal linkage.
#pragma once

#include <cstdint>
#include <cstring>

#include "sparse_attention/attention/kernels.h"

namespace opwright::sparse {
namespace {

constexpr int64_t kLanes = OPWRIGHT_LANES;

using Floats = float __attribute__((vector_size(4 * OPWRIGHT_LANES)));
using Words = uint32_t __attribute__((vector_size(4 * OPWRIGHT_LANES)));
using Halves = uint16_t __attribute__((vector_size(2 * OPWRIGHT_LANES)));
using SignedBytes = int8_t __attribute__((vector_size(OPWRIGHT_LANES)));
using Bytes = uint8_t __attribute__((vector_size(OPWRIGHT_LANES)));

template <class Vector>
Vector load(const void* from) {
  Vector result;
  std::memcpy(&result, from, sizeof(result));
  return result;
}

template <class Vector>
void store(void* to, Vector value) {
  std::memcpy(to, &value, sizeof(value));
}

Floats fill(float value) { return Floats{} + value; }
Floats as_floats(Words value) { return reinterpret_cast<Floats>(value); }
Words as_words(Floats value) { return reinterpret_cast<Words>(value); }

// e^x for x <= 0, relative error below 2e-7; 0 below -87.3. NaN stays.
Floats exponential(Floats x) {
  constexpr float kLowest = -87.3F;
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  constexpr float kToInteger = 12582912.0F;  // 1.5 * 2^23: adding it rounds, and the integer is in the low bits
  const auto vanishes = x < kLowest;
  const Floats bounded = vanishes ? fill(kLowest) : x;
  const Floats shifted = bounded * kLog2E + kToInteger;
  const Floats whole = shifted - kToInteger;
  const Floats r = (bounded - whole * kLn2High) - whole * kLn2Low;
  Floats sum = r * 1.9875691500e-4F + 1.3981999507e-3F;
  sum = sum * r + 8.3334519073e-3F;
  sum = sum * r + 4.1665795894e-2F;
  sum = sum * r + 1.6666665459e-1F;
  sum = sum * r + 5.0000001201e-1F;
  sum = sum * (r * r) + (r + 1.0F);
  const Floats result = sum * as_floats((as_words(shifted) + 127U) << 23);
  return vanishes ? Floats{} : result;
}

struct HalfFormat {
  static Floats widen(Halves bits) {
    const Words word = __builtin_convertvector(bits, Words);
    const Words magnitude = (word & 0x7fffU) << 13;
    const auto special = magnitude >= 0x0f800000U;  // infinity and NaN
    const Words scaled = as_words(as_floats(magnitude) * 0x1p112F);
    return as_floats((special ? magnitude | 0x7f800000U : scaled) | (word & 0x8000U) << 16);
  }
  static Halves narrow(Floats value) {
    const Words bits = as_words(value);
    const Words magnitude = bits & 0x7fffffffU;
    const Words rounded = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13;
    const Words small = as_words(as_floats(magnitude) + 0.5F) - 0x3f000000U;  // multiples of 2^-24
    Words result = magnitude < 0x38800000U ? small : rounded;
    result = magnitude >= 0x477ff000U ? Words{} + 0x7c00U : result;
    result = magnitude > 0x7f800000U ? Words{} + 0x7e00U : result;
    return __builtin_convertvector(result | ((bits >> 16) & 0x8000U), Halves);
  }
  // A probability, 0 to 1 or NaN, as the format has it.
  static Floats round(Floats value) {
    const Words bits = as_words(value);
    const Words rounded = (bits + 0xfffU + ((bits >> 13) & 1U)) & 0xffffe000U;
    const Floats result = value < 0x1p-14F ? (value + 0.5F) - 0.5F : as_floats(rounded);
    return value != value ? value : result;
  }
};

struct Bfloat16Format {
  // The upper halves of the words are the result.
  static Words rounded(Floats value) {
    const Words bits = as_words(value);
    const Words result = bits + 0x7fffU + ((bits >> 16) & 1U);  // of a NaN it may be a number
    return value != value ? Words{} + 0x7fc00000U : result;
  }
  static Floats widen(Halves bits) { return as_floats(__builtin_convertvector(bits, Words) << 16); }
  static Halves narrow(Floats value) { return __builtin_convertvector(rounded(value) >> 16, Halves); }
  static Floats round(Floats value) { return as_floats(rounded(value) & 0xffff0000U); }
};

Floats decode(const char* from, Code code) {
  using Integers = int32_t __attribute__((vector_size(4 * OPWRIGHT_LANES)));
  if (code == Code::kInt8) {
    return __builtin_convertvector(__builtin_convertvector(load<SignedBytes>(from), Integers), Floats);
  }
  const Words word = __builtin_convertvector(load<Bytes>(from), Words);
  const Words magnitude = word & 0x7fU;
  const Words scaled = as_words(as_floats(magnitude << 20) * 0x1p120F);
  return as_floats((magnitude == 0x7fU ? Words{} + 0x7fc00000U : scaled) | (word & 0x80U) << 24);
}

template <class Format>
void dequantize(const char* token, Code code, char* out) {
  constexpr int64_t kScales = kLatent + 2 * kRope;
  constexpr int64_t kColumnsOfScale = 128;
  for (int64_t column = 0; column < kLatent; column += kLanes) {
    const Floats scale = fill(load<float>(token + kScales + column / kColumnsOfScale * 4));
    store(out + 2 * column, Format::narrow(decode(token + column, code) * scale));
  }
}

template <class Format>
void widen_row(const char* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += kLanes) store(to + i, Format::widen(load<Halves>(from + 2 * i)));
}

// Tokens are far apart: the memory's latency is hidden by asking for those that come kAhead later.
constexpr int64_t kAhead = 8;

template <int64_t kBytes>
void prefetch_rows(const char* const* rows, int64_t row, int64_t count) {
  if (row >= count) return;
  for (int64_t byte = 0; byte < kBytes; byte += 64) __builtin_prefetch(rows[row] + byte);
}

}  // namespace
}  // namespace opwright::sparse
