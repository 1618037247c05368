// native/ascendc/kernel/lib/std/tuple.h
// A name that kernels include: all of it comes with core/standard.h.
#pragma once

#include "core/standard.h"
