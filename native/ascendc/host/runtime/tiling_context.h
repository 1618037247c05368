// runtime/tiling_context.h
// Another name of exe_graph/runtime/tiling_context.h.
#pragma once

#include "exe_graph/runtime/tiling_context.h"
