// The data that the host passes to the kernel of AddCustom.
#pragma once

#include "register/tilingdata_base.h"

namespace optiling {

BEGIN_TILING_DATA_DEF(AddCustomTilingData)
TILING_DATA_FIELD_DEF(uint64_t, total);  // elements
TILING_DATA_FIELD_DEF(uint64_t, piece);  // elements of one block
TILING_DATA_FIELD_DEF(uint32_t, tile);   // elements of one copy
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(AddCustom, AddCustomTilingData)

}  // namespace optiling
