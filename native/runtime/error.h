// native/runtime/error.h
// Errors of the twin: one exception type inside, CANN's code and a text at the C boundary.
#pragma once

#include <exception>
#include <sstream>
#include <string>
#include <utility>

#include "acl/acl_base.h"

#define OPWRIGHT_API __attribute__((visibility("default")))

namespace opwright {

// An error's text, and the code that CANN documents for it. Thrown inside the libraries, never across a C
// function.
class OPWRIGHT_API Error : public std::exception {
 public:
  Error(int code, std::string text) : code_(code), text_(std::move(text)) {}
  int code() const noexcept { return code_; }
  const std::string& text() const noexcept { return text_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  int code_;
  std::string text_;
};

// Joins its arguments into one text.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <class... Parts>
[[noreturn]] void fail(int code, const Parts&... parts) {
  throw Error(code, text(parts...));
}

template <class... Parts>
void require(bool condition, int code, const Parts&... parts) {
  if (!condition) fail(code, parts...);
}

// The error channel of the calling thread: what aclGetRecentErrMsg and aclrtGetLastError read.
OPWRIGHT_API void record_error(int code, std::string message) noexcept;
OPWRIGHT_API std::string take_recent_message();
OPWRIGHT_API const std::string& recent_message() noexcept;
// The last error code of this thread; `clear` resets it to success.
OPWRIGHT_API int last_error(bool clear) noexcept;

// Called in a catch-all block at a C boundary: turns the exception in flight into a code and records
// "<function>: <text>" for this thread.
OPWRIGHT_API int record_current_exception(const char* function) noexcept;

// Records that `function` is not available on the twin, and why. Returns `code`.
OPWRIGHT_API int refuse(const char* function, const char* why, int code = ACL_ERROR_FEATURE_UNSUPPORTED) noexcept;

}  // namespace opwright
