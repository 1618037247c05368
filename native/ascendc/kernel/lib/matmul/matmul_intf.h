// native/ascendc/kernel/lib/matmul/matmul_intf.h
#pragma once

#include "lib/matmul_intf.h"
