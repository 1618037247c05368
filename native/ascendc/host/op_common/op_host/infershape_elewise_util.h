// op_common/op_host/infershape_elewise_util.h
// Another name of op_host/infershape_elewise_util.h.
#pragma once

#include "op_host/infershape_elewise_util.h"
