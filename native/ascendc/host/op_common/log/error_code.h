// op_common/log/error_code.h
// Another name of log/error_code.h.
#pragma once

#include "log/error_code.h"
