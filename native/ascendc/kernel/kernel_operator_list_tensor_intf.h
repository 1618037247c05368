// native/ascendc/kernel/kernel_operator_list_tensor_intf.h
// A documented name: all of it comes with kernel_operator.h.
#pragma once

#include "kernel_operator.h"
