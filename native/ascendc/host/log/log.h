// log/log.h
// Messages of host code: OP_LOGE(context, "got %d", n). Errors and warnings go to stderr; the others only with
// ASCEND_GLOBAL_LOG_LEVEL=1 (information) or 0 (debug), as CANN's do.
#pragma once

#include <sstream>  // host code of the repositories has it from here

#include "graph/types.h"
#include "log/invalid.h"
#include "log/line.h"
#include "log/text.h"

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
