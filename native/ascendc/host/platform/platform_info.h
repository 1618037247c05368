// platform/platform_info.h
#pragma once

#include "platform/platform_infos_def.h"
