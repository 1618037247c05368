// host/tiling/tiling_api.h
// Tiling for the high-level API: all of it.
#pragma once

#include <iostream>  // host code relies on it

#include "lib/matmul/bmm_tiling.h"
#include "lib/matmul/matmul_tiling.h"
#include "tiling/high_level/data.h"
#include "tiling/high_level/functions.h"
#include "tiling/high_level/temporary_space.h"
#include "tiling/platform/platform_ascendc.h"
