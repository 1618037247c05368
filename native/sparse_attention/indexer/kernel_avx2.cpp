// native/sparse_attention/indexer/kernel_avx2.cpp
// Score kernels that multiply float32 in vectors of 8.
#include <immintrin.h>

#include "sparse_attention/indexer/tile.h"

namespace opwright::sparse {

namespace {

struct Avx2 {
  static constexpr int kLanes = 8;
  static constexpr int kPack = 1;
  static constexpr int kVectors = 2;
  static constexpr int keys(int) { return 6; }
  using Floats = __m256;
  using Sums = __m256;
  using Factors = __m256;

  static Floats zero() { return _mm256_setzero_ps(); }
  static Floats load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Floats values) { _mm256_storeu_ps(to, values); }
  // See kernel_avx512.h.
  static Floats positive(Floats values) { return _mm256_max_ps(_mm256_setzero_ps(), values); }
  static Floats add_score(Floats sum, Floats score, Floats weights) {
    const __m256i padding = _mm256_cmpeq_epi32(_mm256_castps_si256(weights), _mm256_set1_epi32(kPaddingBits));
    return _mm256_blendv_ps(_mm256_fmadd_ps(score, weights, sum), sum, _mm256_castsi256_ps(padding));
  }
  static Floats scaled_to_half(Floats products) {
    return _mm256_cvtph_ps(
        _mm256_cvtps_ph(_mm256_mul_ps(products, _mm256_set1_ps(1.0F / 1024)), _MM_FROUND_TO_NEAREST_INT));
  }

  static Sums begin(const int32_t*, int) { return zero(); }
  static Factors factors(const int32_t* from) { return _mm256_loadu_ps(reinterpret_cast<const float*>(from)); }
  static Factors broadcast(const char* from) { return _mm256_broadcast_ss(reinterpret_cast<const float*>(from)); }
  static Sums dot(Sums sum, Factors x, Factors y) { return _mm256_fmadd_ps(x, y, sum); }
  static Floats floats_of(Sums sums) { return sums; }

  static void reduce(const float* sums, int64_t count, float* scores) {
    for (int64_t i = 0; i < count; ++i) {
      const __m256 all = load(sums + i * kLanes);
      __m128 sum = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
      sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
      scores[i] = _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
    }
  }

  static __m128i bytes(const char* from) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)); }
  static __m128i words(const char* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
  static Floats half(const char* from) { return _mm256_cvtph_ps(words(from)); }
  static Floats bfloat16(const char* from) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words(from)), 16));
  }
  static Floats int8(const char* from) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes(from))); }
  // See kernel_avx512.h.
  static Floats float8(const char* from) {
    const __m128i wide = _mm_cvtepu8_epi16(bytes(from));
    const __m128i sign = _mm_slli_epi16(_mm_and_si128(wide, _mm_set1_epi16(0x80)), 8);
    const __m128i rest = _mm_slli_epi16(_mm_and_si128(wide, _mm_set1_epi16(0x7F)), 7);
    const __m256 values = _mm256_mul_ps(_mm256_cvtph_ps(_mm_or_si128(sign, rest)), _mm256_set1_ps(256));
    const __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), values);
    const __m256 is_nan = _mm256_cmp_ps(size, _mm256_set1_ps(448), _CMP_GT_OQ);
    return _mm256_blendv_ps(values, _mm256_set1_ps(__builtin_nanf("")), is_nan);
  }
};

}  // namespace

const ScoreKernel* score_avx2(KeyType type) { return float_kernel<Avx2>(type); }

}  // namespace opwright::sparse
