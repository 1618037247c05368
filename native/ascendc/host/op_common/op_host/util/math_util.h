// op_common/op_host/util/math_util.h
// Another name of util/math_util.h.
#pragma once

#include "util/math_util.h"
