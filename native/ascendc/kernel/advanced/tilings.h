// native/ascendc/kernel/advanced/tilings.h
// The tiling structures under the names without a namespace that kernels use.
#pragma once

#include "ascendc/shared/tiling_structs.h"

#define OPWRIGHT_USING(name) using AscendC::tiling::name;
OPWRIGHT_TILINGS(OPWRIGHT_USING)
#undef OPWRIGHT_USING
