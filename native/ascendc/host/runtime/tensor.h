// runtime/tensor.h
// Another name of exe_graph/runtime/tensor.h.
#pragma once

#include "exe_graph/runtime/tensor.h"
