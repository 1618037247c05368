// native/ascendc/kernel/c_api/asc_simd.h
// The C API: instructions over pointers. Each is the instruction of the C++ API that the table names; `…_sync` waits
// for it. Source: asc-devkit, include/c_api.
#pragma once

#include "c_api/compute.h"
#include "c_api/copy.h"
#include "c_api/system.h"
