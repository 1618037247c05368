// native/sparse_attention/attention/kernels.cpp
#include "sparse_attention/attention/kernels.h"

#include "sparse_attention/cpu.h"

namespace opwright::sparse {

const AttentionKernel& attention_kernel(Element element) {
#ifdef __x86_64__
  struct Choice {
    Isa isa;
    const AttentionKernel* (*kernel)(Element);
  };
  constexpr Choice kBestFirst[] = {{Isa::kAmxBf16, attention_amx},
                                   {Isa::kAvx512Bf16, attention_avx512_bf16},
                                   {Isa::kAvx512, attention_avx512},
                                   {Isa::kAvx2, attention_avx2}};
  for (const Choice& choice : kBestFirst) {
    if (isa() < choice.isa) continue;
    if (const AttentionKernel* const kernel = choice.kernel(element)) return *kernel;
  }
#endif
  return *attention_base(element);
}

}  // namespace opwright::sparse
