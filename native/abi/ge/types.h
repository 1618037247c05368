// native/abi/ge/types.h
// Codes of the graph engine's C++ interface: placements, results, and those of ge/codes.h.
// Values are facts of the ABI, from the headers of CANN in torch_npu's wheel; classes of this interface hold exactly
// one shared_ptr to an implementation that is ours, because callers copy and destroy them inline.
#pragma once

#include <cstdint>

#include "ge/codes.h"

namespace ge {

using graphStatus = uint32_t;
using Status = uint32_t;

constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFF;
constexpr Status SUCCESS = 0;
constexpr Status FAILED = 0xFFFFFFFF;

enum Placement : int32_t { kPlacementHost = 0, kPlacementDevice = 1 };

// The layout's name (all names: graph/format.cpp) without its parameter, for example "FRACTAL_NZ"; "UNKNOWN" for a code
// that is not one.
__attribute__((visibility("default"))) const char* GetFormatName(Format format);

}  // namespace ge
