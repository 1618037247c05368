// native/ascendc/instructions/half_conversion.h
// Conversion between half and float: eight at a time with F16C, elsewhere by the compiler, which uses vectors on
// AArch64.
#pragma once

#ifdef __F16C__
#include <immintrin.h>
#endif

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/types.h"

namespace AscendC::machine::vector {

inline void widen(float* to, const half* from, uint32_t count) {
  uint32_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
#endif
  for (; i < count; i++) to[i] = static_cast<float>(from[i]);
}

inline void narrow_exactly(half* to, const float* from, uint32_t count) {
  uint32_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bits);
  }
#endif
  for (; i < count; i++) to[i] = static_cast<half>(from[i]);
}

inline float float_of(uint16_t half_bits) { return static_cast<float>(std::bit_cast<half>(half_bits)); }

// The bits of the nearest half that is no larger in magnitude: a number beyond the largest half becomes that.
inline uint16_t cut_to_half(float value) {
#ifdef __F16C__
  return static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
#else
  const auto nearest = std::bit_cast<uint16_t>(static_cast<half>(value));
  const bool is_larger = std::fabs(float_of(nearest)) > std::fabs(value);  // not of NaN, nor of inf
  return static_cast<uint16_t>(nearest - is_larger);
#endif
}

}  // namespace AscendC::machine::vector
