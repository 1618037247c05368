// native/runtime/profiling/report.h
// The modules that want to know when profiling starts and stops.
#pragma once

#include <cstdint>

#include "acl/prof_api.h"
#include "runtime/error.h"

namespace opwright::profiling {

// The callback that `module` registered last, or nullptr.
OPWRIGHT_API ProfCommandHandle callback_of(uint32_t module);

}  // namespace opwright::profiling
