// native/sparse_attention/block/projection_avx2.cpp
#define OPWRIGHT_LANES 8
#define OPWRIGHT_SUMS 12
#include "sparse_attention/block/projection_float.h"

namespace opwright::sparse {

void strip_avx2(const Strip& strip) { float_strip(strip); }

}  // namespace opwright::sparse
