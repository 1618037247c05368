// native/ascendc/kernel/utils/debug/asc_dump.h
// The vendor's name for a part of it.
#pragma once

#include "core/debug.h"
