// base/err_msg.h
// Errors of host code that carry a code, as messages.
#pragma once

#include "log/log.h"

#define REPORT_INNER_ERR_MSG(code, ...) OP_LOGE(code, __VA_ARGS__)
#define REPORT_INNER_ERROR(code, ...) OP_LOGE(code, __VA_ARGS__)
#define REPORT_CALL_ERROR(code, ...) OP_LOGE(code, __VA_ARGS__)
