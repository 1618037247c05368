// native/graph_engine/call.h
// Functions of the graph interface: what a body throws becomes a status, and a text that GEGetErrorMsg returns.
#pragma once

#include <cstdint>
#include <utility>

#include "ge/session.h"
#include "ge/types.h"
#include "runtime/call.h"

namespace opwright::graph_engine {

template <class Body, class... Args>
ge::Status guarded(const char* function, Body&& body, const Args&... args) {
  return call(function, std::forward<Body>(body), args...) == 0 ? ge::SUCCESS : ge::FAILED;
}

// A session is its number, and nothing else.
inline uint64_t number_of(const ge::Session& session) { return reinterpret_cast<const uint64_t&>(session); }

}  // namespace opwright::graph_engine
