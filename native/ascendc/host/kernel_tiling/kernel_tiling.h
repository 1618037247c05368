// kernel_tiling/kernel_tiling.h
// Tiling structures under their names in kernels, for headers that both sides include.
#pragma once

#include "ascendc/shared/tiling_structs.h"

#define OPWRIGHT_USING(name) using AscendC::tiling::name;
OPWRIGHT_TILINGS(OPWRIGHT_USING)
#undef OPWRIGHT_USING
