// native/sparse_attention/attention_base.cpp
#define OPWRIGHT_LANES 4
#include "sparse_attention/attention_float.h"

namespace opwright::sparse {

const AttentionKernel* attention_base(Element element) { return float_kernel(element); }

}  // namespace opwright::sparse
