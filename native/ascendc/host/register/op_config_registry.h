// register/op_config_registry.h
// One more chip for an operator that is defined elsewhere.
#pragma once

#include "register/op_def.h"

#define REGISTER_OP_AICORE_CONFIG(type, soc, ...)                          \
  [[maybe_unused]] static const bool opwright_config_##type##_##soc = [] { \
    ::opwright::ascendc::add_op_config(#type, #soc, __VA_ARGS__);          \
    return true;                                                           \
  }()
