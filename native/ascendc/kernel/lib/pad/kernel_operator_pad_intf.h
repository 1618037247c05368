// native/ascendc/kernel/lib/pad/kernel_operator_pad_intf.h
// A name that kernels include: all of it comes with kernel_operator.h.
#pragma once

#include "kernel_operator.h"
