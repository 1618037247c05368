// native/ascendc/kernel/advanced/tiling/names.h
// The tiling structures under the names without a namespace that kernels use.
#pragma once

#include "structs.h"

#define OPWRIGHT_USING(name) using AscendC::tiling::name;
OPWRIGHT_TILINGS(OPWRIGHT_USING)
#undef OPWRIGHT_USING
