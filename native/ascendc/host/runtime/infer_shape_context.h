// runtime/infer_shape_context.h
// Another name of exe_graph/runtime/infer_shape_context.h.
#pragma once

#include "exe_graph/runtime/infer_shape_context.h"
