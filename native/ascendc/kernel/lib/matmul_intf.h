// native/ascendc/kernel/lib/matmul_intf.h
#pragma once

#include "advanced/matmul/register.h"
#include "kernel_operator.h"
