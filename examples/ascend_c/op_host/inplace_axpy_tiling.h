// The data that the host passes to the kernel of InplaceAxpy.
#pragma once

#include "register/tilingdata_base.h"

namespace optiling {

BEGIN_TILING_DATA_DEF(InplaceAxpyTilingData)
TILING_DATA_FIELD_DEF(uint64_t, total);
TILING_DATA_FIELD_DEF(uint64_t, piece);
TILING_DATA_FIELD_DEF(uint32_t, tile);
TILING_DATA_FIELD_DEF(float, alpha);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(InplaceAxpy, InplaceAxpyTilingData)

}  // namespace optiling
