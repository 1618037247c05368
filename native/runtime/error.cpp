// native/runtime/error.cpp
// The per-thread error channel.
#include "runtime/error.h"

#include <new>

#include "runtime/log.h"

namespace opwright {
namespace {

struct Channel {
  int code = ACL_SUCCESS;
  std::string message;
};

Channel& channel() noexcept {
  thread_local Channel instance;
  return instance;
}

}  // namespace

void record_error(int code, std::string message) noexcept {
  log::note_error(code, message);
  channel().code = code;
  channel().message = std::move(message);
}

std::string take_recent_message() {
  log::note_error_read();
  return std::exchange(channel().message, std::string());
}

const std::string& recent_message() noexcept { return channel().message; }

int last_error(bool clear) noexcept {
  log::note_error_read();
  const int code = channel().code;
  if (clear) channel().code = ACL_SUCCESS;
  return code;
}

namespace {

// In sync mode a task fails inside the call that made it, and both name it.
std::string prefixed(const char* function, const std::string& message) {
  const std::string prefix = text(function, ": ");
  return message.compare(0, prefix.size(), prefix) == 0 ? message : prefix + message;
}

}  // namespace

int record_current_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    record_error(error.code(), prefixed(function, error.text()));
    return error.code();
  } catch (const std::bad_alloc&) {
    record_error(ACL_ERROR_INTERNAL_ERROR, text(function, ": the host ran out of memory"));
  } catch (const std::exception& error) {
    record_error(ACL_ERROR_INTERNAL_ERROR, text(function, ": internal error: ", error.what()));
  } catch (...) {  // only a user's kernel throws such
    record_error(ACL_ERROR_INTERNAL_ERROR, text(function, ": an exception that is no std::exception"));
  }
  return ACL_ERROR_INTERNAL_ERROR;
}

int refuse(const char* function, const char* why, int code) noexcept {
  record_error(code, text(function, ": not available on the twin: ", why));
  return code;
}

}  // namespace opwright
