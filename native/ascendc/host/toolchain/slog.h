// toolchain/slog.h
// Messages by module, as old host code writes them.
#pragma once

#include "log/log.h"

enum { DLOG_DEBUG = 0, DLOG_INFO = 1, DLOG_WARN = 2, DLOG_ERROR = 3 };
#ifndef OP
#define OP 63
#endif

inline int CheckLogLevel(int, int level) { return level >= ::opwright::ascendc::log_threshold() ? 1 : 0; }
#define dlog_error(module, ...) OPWRIGHT_LOG(kError, "module " #module, __VA_ARGS__)
#define dlog_warn(module, ...) OPWRIGHT_LOG(kWarning, "module " #module, __VA_ARGS__)
#define dlog_info(module, ...) OPWRIGHT_LOG(kInfo, "module " #module, __VA_ARGS__)
#define dlog_debug(module, ...) OPWRIGHT_LOG(kDebug, "module " #module, __VA_ARGS__)
