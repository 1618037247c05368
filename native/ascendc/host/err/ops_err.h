// err/ops_err.h
// Errors of host code, as messages.
#pragma once

#include "log/log.h"

#ifndef OPS_REPORT_VECTOR_INNER_ERR
#define OPS_REPORT_VECTOR_INNER_ERR(name, ...) OP_LOGE(name, __VA_ARGS__)
#endif
#ifndef OPS_REPORT_CUBE_INNER_ERR
#define OPS_REPORT_CUBE_INNER_ERR(name, ...) OP_LOGE(name, __VA_ARGS__)
#endif
#ifndef OPS_INNER_ERR_STUB
#define OPS_INNER_ERR_STUB(code, name, ...) OP_LOGE(name, __VA_ARGS__)
#endif
