// native/ascendc/kernel/adv_api/pad/broadcast.h
// A name that kernels include: all of it comes with kernel_operator.h.
#pragma once

#include "kernel_operator.h"
