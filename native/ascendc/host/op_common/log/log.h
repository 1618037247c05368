// op_common/log/log.h
// Another name of log/log.h.
#pragma once

#include "log/log.h"
