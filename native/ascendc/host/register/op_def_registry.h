// register/op_def_registry.h
// OP_ADD(AddCustom) registers the definition `class AddCustom : public OpDef`.
#pragma once

#include <iostream>  // definitions use it without including it

#include "ascendc/host_api/tiling/template_argument.h"
#include "graph/utils/type_utils.h"
#include "register/op_def.h"
#include "register/tilingdata_base.h"

#define OP_ADD(type, ...)                                                                                \
  [[maybe_unused]] static const bool opwright_op_##type = [] {                                           \
    ::opwright::ascendc::add_op_def(#type, [](const char* name) -> ::ops::OpDef { return type(name); }); \
    return true;                                                                                         \
  }()
