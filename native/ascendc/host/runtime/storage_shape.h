// runtime/storage_shape.h
// Another name of exe_graph/runtime/storage_shape.h.
#pragma once

#include "exe_graph/runtime/storage_shape.h"
