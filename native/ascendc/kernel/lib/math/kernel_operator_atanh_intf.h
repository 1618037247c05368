// native/ascendc/kernel/lib/math/kernel_operator_atanh_intf.h
// A name that kernels include: all of it comes with kernel_operator.h.
#pragma once

#include "kernel_operator.h"
