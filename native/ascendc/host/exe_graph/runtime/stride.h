// exe_graph/runtime/stride.h
#pragma once

#include "exe_graph/runtime/shape.h"
