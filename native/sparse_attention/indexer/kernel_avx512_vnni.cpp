// native/sparse_attention/indexer/kernel_avx512_vnni.cpp
// The score kernel that multiplies four int8 at once. The instruction takes one side unsigned: keys, plus 128.
#include "sparse_attention/indexer/kernel_avx512.h"

namespace opwright::sparse {

namespace {

struct Avx512Vnni : Avx512 {
  static constexpr int kPack = 4;
  // Fewer than there are registers for: of more sums, GCC 12 keeps some in memory.
  static constexpr int keys(int vectors) { return vectors == 4 ? 4 : vectors == 3 ? 6 : vectors == 2 ? 8 : 12; }
  using Sums = __m512i;
  using Factors = __m512i;

  static Sums begin(const int32_t* start, int vector) { return _mm512_loadu_si512(start + vector * kLanes); }
  static Factors factors(const int32_t* from) { return _mm512_loadu_si512(from); }
  static Factors broadcast(const char* from) { return _mm512_set1_epi32(read<int32_t>(from)); }
  // _mm512_dpbusd_epi32(sum, key, query); with that, GCC 12 copies the sums.
  static Sums dot(Sums sum, Factors query, Factors key) {
    asm("vpdpbusd %[query], %[key], %[sum]" : [sum] "+v"(sum) : [key] "v"(key), [query] "v"(query));
    return sum;
  }
  static Floats floats_of(Sums sums) { return _mm512_cvtepi32_ps(sums); }
};

void shift(const char* const* rows, int64_t count, char* out) {
  const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80));
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t i = 0; i < kHeadSize; i += 64) {
      _mm512_storeu_si512(out + row * kHeadSize + i, _mm512_xor_si512(_mm512_loadu_si512(rows[row] + i), sign));
    }
  }
}

constexpr ScoreKernel kInt8{16, 64, 4, true, false, shift, tiled_scores<Avx512Vnni, true>};

}  // namespace

const ScoreKernel* score_avx512_vnni(KeyType type) { return type == KeyType::kInt8 ? &kInt8 : nullptr; }

}  // namespace opwright::sparse
