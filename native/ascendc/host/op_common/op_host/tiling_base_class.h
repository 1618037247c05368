// op_common/op_host/tiling_base_class.h
// Another name of op_host/tiling_base_class.h.
#pragma once

#include "op_host/tiling_base_class.h"
