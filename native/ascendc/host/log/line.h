// log/line.h
// One line of the log of host code.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "graph/types.h"

namespace opwright::ascendc {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

inline int log_threshold() {
  static const int level = [] {
    const char* const given = std::getenv("ASCEND_GLOBAL_LOG_LEVEL");
    return given == nullptr || *given < '0' || *given > '4' ? 2 : *given - '0';
  }();
  return level;
}

inline const char* name_for_log(const char* name) { return name == nullptr ? "operator" : name; }
inline const char* name_for_log(const std::string& name) { return name.c_str(); }
template <class Context>
auto name_for_log(const Context* context) -> decltype(context->GetNodeName()) {
  return context == nullptr ? "operator" : context->GetNodeName();
}

template <class Name, class... Values>
void log(LogLevel level, const char* function, int line, const Name& name, const char* format,
         const Values&... values) {
  static constexpr const char* kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
  if (static_cast<int>(level) < log_threshold()) return;
  std::fprintf(stderr, "[%s] %s, %s:%d: ", kNames[static_cast<int>(level)], name_for_log(name), function, line);
  if constexpr (sizeof...(values) == 0) {
    std::fputs(format, stderr);
  } else {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    std::fprintf(stderr, format, values...);
#pragma GCC diagnostic pop
  }
  std::fputc('\n', stderr);
}

}  // namespace opwright::ascendc

#define OPWRIGHT_LOG(level, name, ...) \
  ::opwright::ascendc::log(::opwright::ascendc::LogLevel::level, __func__, __LINE__, name, __VA_ARGS__)
