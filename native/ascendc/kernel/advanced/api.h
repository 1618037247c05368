// native/ascendc/kernel/advanced/api.h
// The high-level API, but for Matmul (lib/matmul_intf.h).
#pragma once

#include "advanced/activation.h"
#include "advanced/division.h"
#include "advanced/math.h"
#include "advanced/normalization.h"
#include "advanced/quantization.h"
#include "advanced/reduction.h"
#include "advanced/softmax.h"
#include "advanced/softmax_flash_v3.h"
#include "advanced/sorting.h"
#include "advanced/tilings.h"
#include "advanced/trans_data.h"
#include "advanced/transform.h"
#include "advanced/transpose_axes.h"
#include "advanced/welford.h"
