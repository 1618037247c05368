// native/runtime/log.h
// Lines of a log in CANN's format, for the level that ASCEND_GLOBAL_LOG_LEVEL asks for.
//
// CANN writes them to files below ~/ascend/log, or below ASCEND_PROCESS_LOG_PATH, or with ASCEND_SLOG_PRINT_TO_STDOUT=1
// to standard output. The twin has files only where the variable names a folder for them. Without the two its lines go
// to standard error, and an error of a call is only written when it is certain that the program does not ask for it.
// Programs that read the message or the last error, as torch_npu does, ask.
#pragma once

#include <cstdint>
#include <string>

#include "acl/acl_base.h"

namespace opwright::log {

// Where in a program a line comes from.
struct Place {
  const char* file;
  uint32_t line;
  const char* function;
};

// Whether lines of the program's own are written. torch_npu logs as errors what it handles, so somebody has to have set
// one of the variables.
bool writes_own(aclLogLevel level) noexcept;
// A line of the program's own.
void write(aclLogLevel level, const Place& place, const std::string& message) noexcept;

// The calling thread has a new error, which it can ask for until it has another one. `message` starts with the name of
// the function.
void note_error(int code, const std::string& message) noexcept;
// The calling thread has read its error.
void note_error_read() noexcept;

// An error that nobody can ask for: of a task whose stream is gone, or of a dump. It counts toward the number of lines
// that are written for errors that nobody reads.
void write_lost_failure(int code, const std::string& message) noexcept;
}  // namespace opwright::log
