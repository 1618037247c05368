// runtime/shape.h
// Another name of exe_graph/runtime/shape.h.
#pragma once

#include "exe_graph/runtime/shape.h"
