// native/sparse_attention/attention_avx512.cpp
#define OPWRIGHT_LANES 16
#include "sparse_attention/attention_float.h"

namespace opwright::sparse {

const AttentionKernel* attention_avx512(Element element) { return float_kernel(element); }

}  // namespace opwright::sparse
