// native/sparse_attention/block/projection_base.cpp
#define OPWRIGHT_LANES 4
#define OPWRIGHT_SUMS 12
#include "sparse_attention/block/projection_float.h"

namespace opwright::sparse {

void strip_base(const Strip& strip) { float_strip(strip); }

}  // namespace opwright::sparse
