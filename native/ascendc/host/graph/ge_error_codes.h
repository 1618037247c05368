// graph/ge_error_codes.h
// The results of functions of the graph layer.
#pragma once

#include "graph/types.h"
