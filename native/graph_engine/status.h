// native/graph_engine/status.h
// Failures of the graph interface: a status for the caller and a text that GEGetErrorMsg returns.
#pragma once

#include "ge/types.h"
#include "runtime/error.h"

namespace opwright::graph_engine {

template <class... Parts>
ge::graphStatus rejected(const char* function, const Parts&... parts) {
  record_error(static_cast<int>(ge::GRAPH_FAILED), text(function, ": ", parts...));
  return ge::GRAPH_FAILED;
}

}  // namespace opwright::graph_engine
