// register/device_op_impl_registry.h
// Tiling that the vendor's graph engine may run on the device; the twin always runs it on the host.
#pragma once

#include "register/op_impl_registry.h"

#define DEVICE_IMPL_OP_OPTILING(op_type) IMPL_OP_OPTILING(op_type)
