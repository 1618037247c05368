// native/sparse_attention/indexer/kernel_avx512_bf16.cpp
// Score kernels that multiply pairs of bfloat16; those of float8 are exact in it.
#include "sparse_attention/indexer/kernel_avx512.h"

namespace opwright::sparse {

namespace {

struct Avx512Bf16 : Avx512 {
  static constexpr int kPack = 2;
  using Factors = __m512bh;

  static Factors factors(const int32_t* from) { return (__m512bh)_mm512_loadu_si512(from); }
  static Factors broadcast(const char* from) { return (__m512bh)_mm512_set1_epi32(read<int32_t>(from)); }
  static Sums dot(Sums sum, Factors x, Factors y) { return _mm512_dpbf16_ps(sum, x, y); }
};

void float8_to_bfloat16(const char* const* rows, int64_t count, char* out) {
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t i = 0; i < kHeadSize; i += Avx512::kLanes) {
      const __m512i bits = _mm512_castps_si512(Avx512::float8(rows[row] + i));
      const __m256i upper = _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 2 * (row * kHeadSize + i)), upper);
    }
  }
}

constexpr ScoreKernel kBfloat16{16, 64, 2, false, true, nullptr, tiled_scores<Avx512Bf16, false>};
constexpr ScoreKernel kFloat8{16, 64, 2, false, false, float8_to_bfloat16, tiled_scores<Avx512Bf16, false>};

}  // namespace

const ScoreKernel* score_avx512_bf16(KeyType type) {
  return type == KeyType::kBfloat16 ? &kBfloat16 : type == KeyType::kFloat8 ? &kFloat8 : nullptr;
}

}  // namespace opwright::sparse
