// native/sparse_attention/block/projection_avx512.cpp
#define OPWRIGHT_LANES 16
#define OPWRIGHT_SUMS 24
#include "sparse_attention/block/projection_float.h"

namespace opwright::sparse {

void strip_avx512(const Strip& strip) { float_strip(strip); }

}  // namespace opwright::sparse
