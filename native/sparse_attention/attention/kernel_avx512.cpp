// native/sparse_attention/attention/kernel_avx512.cpp
#define OPWRIGHT_LANES 16
#include "sparse_attention/attention/float.h"

namespace opwright::sparse {

const AttentionKernel* attention_avx512(Element element) { return float_kernel(element); }

}  // namespace opwright::sparse
