// native/ascendc/kernel/lib/sigmoid/kernel_operator_sigmoid_intf.h
// A name that kernels include: all of it comes with kernel_operator.h.
#pragma once

#include "kernel_operator.h"
