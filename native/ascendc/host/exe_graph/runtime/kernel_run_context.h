// exe_graph/runtime/kernel_run_context.h
#pragma once

#include "exe_graph/runtime/extended_kernel_context.h"
