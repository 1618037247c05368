// native/sparse_attention/attention_avx2.cpp
#define OPWRIGHT_LANES 8
#include "sparse_attention/attention_float.h"

namespace opwright::sparse {

const AttentionKernel* attention_avx2(Element element) { return float_kernel(element); }

}  // namespace opwright::sparse
