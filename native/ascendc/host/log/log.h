// log/log.h
// Messages of host code: OP_LOGE(context, "got %d", n). Errors and warnings go to stderr; the others only with
// ASCEND_GLOBAL_LOG_LEVEL=1 (information) or 0 (debug), as CANN's do.
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

// Projects have macros of these names of their own, which then hold.
#ifndef OP_LOGE
#define OP_LOGE(name, ...) OPWRIGHT_LOG(kError, name, __VA_ARGS__)
#endif
#ifndef OP_LOGE_WITHOUT_REPORT
#define OP_LOGE_WITHOUT_REPORT(name, ...) OPWRIGHT_LOG(kError, name, __VA_ARGS__)
#endif
#ifndef OP_LOGW
#define OP_LOGW(name, ...) OPWRIGHT_LOG(kWarning, name, __VA_ARGS__)
#endif
#ifndef OP_LOGI
#define OP_LOGI(name, ...) OPWRIGHT_LOG(kInfo, name, __VA_ARGS__)
#endif
#ifndef OP_LOGD
#define OP_LOGD(name, ...) OPWRIGHT_LOG(kDebug, name, __VA_ARGS__)
#endif
#ifndef OP_CHECK_IF
#define OP_CHECK_IF(condition, log_statement, return_statement) \
  do {                                                          \
    if (condition) {                                            \
      log_statement;                                            \
      return_statement;                                         \
    }                                                           \
  } while (false)
#endif
#ifndef OP_CHECK_NULL_WITH_CONTEXT
#define OP_CHECK_NULL_WITH_CONTEXT(context, pointer)  \
  do {                                                \
    if ((pointer) == nullptr) {                       \
      OP_LOGE(context, "%s", #pointer " is nullptr"); \
      return ge::GRAPH_FAILED;                        \
    }                                                 \
  } while (false)
#endif

#include "log/invalid.h"
#include "util/text.h"
