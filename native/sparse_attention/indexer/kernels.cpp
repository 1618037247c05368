// native/sparse_attention/indexer/kernels.cpp
#include "sparse_attention/indexer/kernels.h"

#include "sparse_attention/cpu.h"

namespace opwright::sparse {

#ifdef __x86_64__

namespace {

bool has_vnni() {
  static const bool value = __builtin_cpu_supports("avx512vnni") != 0;
  return value;
}

}  // namespace

const ScoreKernel& score_kernel(KeyType type) {
  const Isa level = isa();
  const ScoreKernel* found = nullptr;
  if (level >= Isa::kAmxBf16) found = amx_kernel(type);
  if (found == nullptr && level >= Isa::kAvx512Bf16) found = avx512_bf16_kernel(type);
  if (found == nullptr && level >= Isa::kAvx512 && has_vnni()) found = avx512_vnni_kernel(type);
  if (found == nullptr && level >= Isa::kAvx512) found = avx512_kernel(type);
  if (found == nullptr && level >= Isa::kAvx2) found = avx2_kernel(type);
  return found == nullptr ? *base_kernel(type) : *found;
}

#else

const ScoreKernel& score_kernel(KeyType type) { return *base_kernel(type); }

#endif

}  // namespace opwright::sparse
