// native/sparse_attention/indexer/kernel_avx512.h
// Vectors of float32 for score kernels (tile.h), as the files for AVX-512 share them.
#pragma once

#include <immintrin.h>

#include "sparse_attention/indexer/tile.h"

namespace opwright::sparse {
namespace {

struct Avx512 {
  static constexpr int kLanes = 16;
  static constexpr int kPack = 1;
  static constexpr int kVectors = 4;
  static constexpr int keys(int vectors) { return vectors == 4 ? 6 : vectors == 3 ? 8 : 12; }
  using Floats = __m512;
  using Sums = __m512;
  using Factors = __m512;

  static Floats zero() { return _mm512_setzero_ps(); }
  static Floats load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Floats values) { _mm512_storeu_ps(to, values); }
  // Of two values one of which is NaN, max takes the second.
  static Floats positive(Floats values) { return _mm512_max_ps(_mm512_setzero_ps(), values); }
  static Floats add_score(Floats sum, Floats score, Floats weights) {
    const __mmask16 heads = _mm512_cmpneq_epi32_mask(_mm512_castps_si512(weights), _mm512_set1_epi32(kPaddingBits));
    return _mm512_mask3_fmadd_ps(score, weights, sum, heads);
  }
  static Floats scaled_to_half(Floats products) {
    return _mm512_cvtph_ps(
        _mm512_cvtps_ph(_mm512_mul_ps(products, _mm512_set1_ps(1.0F / 1024)), _MM_FROUND_TO_NEAREST_INT));
  }

  static Sums begin(const int32_t*, int) { return zero(); }
  static Factors factors(const int32_t* from) { return _mm512_loadu_ps(from); }
  static Factors broadcast(const char* from) { return _mm512_set1_ps(read<float>(from)); }
  static Sums dot(Sums sum, Factors x, Factors y) { return _mm512_fmadd_ps(x, y, sum); }
  static Floats floats_of(Sums sums) { return sums; }

  static void reduce(const float* sums, int64_t count, float* scores) {
    for (int64_t i = 0; i < count; ++i) scores[i] = _mm512_reduce_add_ps(load(sums + i * kLanes));
  }

  static __m128i bytes(const char* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
  static __m256i words(const char* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
  static Floats half(const char* from) { return _mm512_cvtph_ps(words(from)); }
  static Floats bfloat16(const char* from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words(from)), 16));
  }
  static Floats int8(const char* from) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes(from))); }
  // The bits of float8_e4m3fn are those of a float16 that is 2^8 smaller, but for NaN: the one value above 448, 480.
  static Floats float8(const char* from) {
    const __m256i wide = _mm256_cvtepu8_epi16(bytes(from));
    const __m256i sign = _mm256_slli_epi16(_mm256_and_si256(wide, _mm256_set1_epi16(0x80)), 8);
    const __m256i rest = _mm256_slli_epi16(_mm256_and_si256(wide, _mm256_set1_epi16(0x7F)), 7);
    const __m512 values = _mm512_mul_ps(_mm512_cvtph_ps(_mm256_or_si256(sign, rest)), _mm512_set1_ps(256));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(_mm512_abs_ps(values), _mm512_set1_ps(448), _CMP_GT_OQ);
    return _mm512_mask_mov_ps(values, is_nan, _mm512_set1_ps(__builtin_nanf("")));
  }
};

}  // namespace
}  // namespace opwright::sparse
