// platform/platform_info_def.h
// Another name of platform/platform_infos_def.h.
#pragma once

#include "platform/platform_infos_def.h"
