// native/sparse_attention/attention/kernel_avx2.cpp
#define OPWRIGHT_LANES 8
#include "sparse_attention/attention/float.h"

namespace opwright::sparse {

const AttentionKernel* attention_avx2(Element element) { return float_kernel(element); }

}  // namespace opwright::sparse
