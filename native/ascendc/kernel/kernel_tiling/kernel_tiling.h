// native/ascendc/kernel/kernel_tiling/kernel_tiling.h
// Tiling structures under their names in kernels.
#pragma once

#include "advanced/tilings.h"
