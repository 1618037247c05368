// ascendc/host_api/tiling/template_argument.h
// Kernels that are templates, as kernels see it: nothing. `opwright ascendc build` reads parameters and selections from
// the host side and instantiates the kernel.
#pragma once

#include "ascendc/shared/template_values.h"

#define ASCENDC_TPL_ARGS_DECL(x, ...) static_assert(true)
#define ASCENDC_TPL_SEL(...) static_assert(true)
