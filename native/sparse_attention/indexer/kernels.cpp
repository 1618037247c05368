// native/sparse_attention/indexer/kernels.cpp
#include "sparse_attention/indexer/kernels.h"

#include "sparse_attention/cpu.h"

namespace opwright::sparse {

#ifdef __x86_64__

namespace {

// VNNI is no level of its own: some CPUs with AVX-512 have it.
const ScoreKernel* score_vnni_if_there(KeyType type) {
  static const bool is_there = __builtin_cpu_supports("avx512vnni") != 0;
  return is_there ? score_avx512_vnni(type) : nullptr;
}

}  // namespace

const ScoreKernel& score_kernel(KeyType type) {
  constexpr Choice<ScoreKernel, KeyType> kBestFirst[] = {{Isa::kAmxBf16, score_amx},
                                                         {Isa::kAvx512Bf16, score_avx512_bf16},
                                                         {Isa::kAvx512, score_vnni_if_there},
                                                         {Isa::kAvx512, score_avx512},
                                                         {Isa::kAvx2, score_avx2}};
  return first_of(kBestFirst, score_base, type);
}

#else

const ScoreKernel& score_kernel(KeyType type) { return *score_base(type); }

#endif

}  // namespace opwright::sparse
