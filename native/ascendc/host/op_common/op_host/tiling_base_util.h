// op_common/op_host/tiling_base_util.h
// Another name of op_host/tiling_base_util.h.
#pragma once

#include "op_host/tiling_base_util.h"
