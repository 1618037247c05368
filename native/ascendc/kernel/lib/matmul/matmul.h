// native/ascendc/kernel/lib/matmul/matmul.h
// A name that kernels include: all of it comes with lib/matmul_intf.h.
#pragma once

#include "lib/matmul_intf.h"
