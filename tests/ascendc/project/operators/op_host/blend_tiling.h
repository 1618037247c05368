#pragma once

#include "register/tilingdata_base.h"

namespace optiling {

BEGIN_TILING_DATA_DEF(BlendRange)
TILING_DATA_FIELD_DEF(int64_t, total);
TILING_DATA_FIELD_DEF(int64_t, share);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(BlendRangeOp, BlendRange)

BEGIN_TILING_DATA_DEF(BlendTiling)
TILING_DATA_FIELD_DEF(uint8_t, rank);
TILING_DATA_FIELD_DEF(float, weight);
TILING_DATA_FIELD_DEF_STRUCT(BlendRange, range);
TILING_DATA_FIELD_DEF_ARR(int32_t, 3, marks);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Blend, BlendTiling)

}  // namespace optiling
