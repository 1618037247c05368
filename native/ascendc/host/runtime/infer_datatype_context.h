// runtime/infer_datatype_context.h
// Another name of exe_graph/runtime/infer_datatype_context.h.
#pragma once

#include "exe_graph/runtime/infer_datatype_context.h"
