// native/ascendc/kernel/basic_api/kernel_operator_vec_scatter_intf.h
// A documented name: all of it comes with kernel_operator.h.
#pragma once

#include "kernel_operator.h"
