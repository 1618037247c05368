// op_host/util/platform_util.h
// Another name of util/platform_util.h.
#pragma once

#include "util/platform_util.h"
