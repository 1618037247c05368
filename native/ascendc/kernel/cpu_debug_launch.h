// native/ascendc/kernel/cpu_debug_launch.h
// Included by sources that are compiled for the host (ASCENDC_CPU_DEBUG). bisheng makes their launches the same as all
// others, so that there is nothing to add.
#pragma once

#include "launch.h"
