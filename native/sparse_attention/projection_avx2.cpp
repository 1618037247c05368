// native/sparse_attention/projection_avx2.cpp
#define OPWRIGHT_LANES 8
#define OPWRIGHT_TILE_PANELS 4
#include "sparse_attention/projection_float.h"

namespace opwright::sparse {

void strip_avx2(const Strip& strip) { float_strip(strip); }

}  // namespace opwright::sparse
