// native/ascendc/kernel/adv_api/reduce/reduce.h
// A name that kernels include: all of it comes with kernel_operator.h.
#pragma once

#include "kernel_operator.h"
