// native/sparse_attention/attention/kernels.cpp
#include "sparse_attention/attention/kernels.h"

#include "sparse_attention/cpu.h"

namespace opwright::sparse {

const AttentionKernel& attention_kernel(Element element) {
#ifdef __x86_64__
  constexpr Choice<AttentionKernel, Element> kBestFirst[] = {{Isa::kAmxBf16, attention_amx},
                                                             {Isa::kAvx512Bf16, attention_avx512_bf16},
                                                             {Isa::kAvx512, attention_avx512},
                                                             {Isa::kAvx2, attention_avx2}};
  return first_of(kBestFirst, attention_base, element);
#else
  return *attention_base(element);
#endif
}

}  // namespace opwright::sparse
