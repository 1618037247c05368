// native/sparse_attention/indexer/kernel_avx512.cpp
// Score kernels that multiply float32 in vectors of 16.
#include "sparse_attention/indexer/kernel_avx512.h"

namespace opwright::sparse {

const ScoreKernel* score_avx512(KeyType type) { return float_kernel<Avx512>(type); }

void add_heads_avx512(const float* products, int64_t count, const PackedQuery& query, float* scores) {
  for (int64_t i = 0; i < count; ++i) {
    __m512 sum = Avx512::zero();
    for (int64_t head = 0; head < query.heads; head += Avx512::kLanes) {
      const __m512 score = Avx512::positive(Avx512::load(products + i * query.heads + head));
      sum = Avx512::add_score(sum, score, Avx512::load(query.weights + head));
    }
    scores[i] = _mm512_reduce_add_ps(sum);
  }
}

}  // namespace opwright::sparse
