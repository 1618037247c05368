// native/ascendc/kernel/ascendc_language.h
// The words that Ascend C adds to C++, which need no #include: the compiler driver puts this file before each source.
#pragma once

#include "core/builtins.h"
#include "core/types.h"
#include "launch.h"
