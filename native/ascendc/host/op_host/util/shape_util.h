// op_host/util/shape_util.h
// Another name of util/shape_util.h.
#pragma once

#include "util/shape_util.h"
