// native/runtime/profiling/session.h
// From aclprofInit to aclprofFinalize: where results go, and whether recording is on.
#pragma once

#include <string>

#include "runtime/error.h"
#include "runtime/profiling/config.h"

namespace opwright::profiling {

// Throws Error when the state or the folder does not allow it.
void open_session(const std::string& folder);
void start(const aclprofConfig& config);
// Ends the recording, and throws if it could not be written.
void stop();
void close_session();

// Throws unless a session is open.
OPWRIGHT_API void require_session();

// Adds a line to the recording.
void append(const std::string& line);

}  // namespace opwright::profiling
