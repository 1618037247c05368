// base/alog_pub.h
#pragma once

#include "toolchain/slog.h"
