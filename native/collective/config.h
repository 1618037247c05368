// native/collective/config.h
// Process-wide settings of the collectives.
#pragma once

#include <cstdint>

#include "hccl/hccl_types.h"
#include "runtime/error.h"

namespace opwright::collective {

// The value that was set last, 0 before.
OPWRIGHT_API int32_t config(HcclConfig config);

}  // namespace opwright::collective
