// native/ascendc/package/platform.h
// The chip that this process reports, as host code of operators sees it.
#pragma once

#include "platform/platform_infos_def.h"

namespace opwright::ascendc {

// With as many cores as the calling thread may use: limits of a stream or a device count. Valid until its next call.
fe::PlatFormInfos& platform();

}  // namespace opwright::ascendc
