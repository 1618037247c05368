// native/runtime/trace.h
// Chrome trace of every call and every task (OPWRIGHT_TRACE=FILE). Off, a span costs one load and one branch.
#pragma once

#include <atomic>
#include <cstdint>
#include <sstream>
#include <string>

#include "runtime/error.h"

namespace opwright {

template <class T>
struct Arg;

namespace trace {

extern OPWRIGHT_API std::atomic<bool> enabled_flag;

inline bool enabled() noexcept { return enabled_flag.load(std::memory_order_relaxed); }

// Microseconds on the steady clock, the time base of all events in the file.
OPWRIGHT_API double now() noexcept;

// A row of the trace: the calling thread, or a stream's worker.
OPWRIGHT_API void name_this_thread(const std::string& name);

// One finished call or task. `args` is the inside of a JSON object.
OPWRIGHT_API void write(const char* category, const std::string& name, double begin, double end,
                        const std::string& args) noexcept;

// A row that is no thread of this process: the pipes of a core that runs a kernel in Ascend C.
struct Row {
  int64_t process;  // rows of one process stand together
  int64_t thread;
};
OPWRIGHT_API void name_row(const Row& row, const std::string& process, const std::string& name);
OPWRIGHT_API void write_row(const Row& row, const std::string& name, double begin, double end, const std::string& args);

// Writes what is buffered and closes the JSON array; called when the process ends.
OPWRIGHT_API void close() noexcept;

// `value` as a JSON string, quoted and escaped.
OPWRIGHT_API std::string quote(const std::string& value);

// Appends a member to those of a JSON object; `value` is JSON. Part by part, because GCC warns of a sum that begins
// with a literal (GCC bug 105651).
inline void append_member(std::string& members, const std::string& name, const std::string& value) {
  if (!members.empty()) members += ',';
  members += quote(name);
  members += ':';
  members += value;
}

namespace detail {

template <class T>
std::string value(const T& v) {
  std::ostringstream out;
  if constexpr (std::is_enum_v<T>) {
    out << static_cast<long long>(v);
  } else {
    out << v;
  }
  return quote(out.str());
}

inline std::string value(const char* v) { return v == nullptr ? "null" : quote(v); }

template <class... Args>
std::string join(const Arg<Args>&... args) {
  std::string result;
  (append_member(result, args.name, value(args.value)), ...);
  return result;
}

}  // namespace detail

// Traces the enclosing scope as a call on the current thread.
class OPWRIGHT_API Span {
 public:
  template <class... Args>
  explicit Span(const char* name, const Arg<Args>&... args) {
    if (enabled()) {
      name_ = name;
      args_ = detail::join(args...);
      begin_ = now();
    }
  }
  ~Span() {
    if (name_ != nullptr) write("call", name_, begin_, now(), args_);
  }
  // More arguments: the inside of a JSON object.
  void add(const std::string& args) {
    if (name_ != nullptr && !args.empty()) args_ += (args_.empty() ? "" : ",") + args;
  }
  void add_error(int code) noexcept;
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  const char* name_ = nullptr;
  std::string args_;
  double begin_ = 0;
};

}  // namespace trace
}  // namespace opwright
