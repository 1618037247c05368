// native/sparse_attention/attention/kernel_base.cpp
#define OPWRIGHT_LANES 4
#include "sparse_attention/attention/float.h"

namespace opwright::sparse {

const AttentionKernel* attention_base(Element element) { return float_kernel(element); }

}  // namespace opwright::sparse
