// op_host/util/const_util.h
// Another name of util/const_util.h.
#pragma once

#include "util/const_util.h"
