// native/ascendc/package/tiling.h
// The host functions of an operator for one call.
#pragma once

#include <initializer_list>

#include "ascendc/package/installed.h"
#include "ascendc/package/operands.h"
#include "node/node.h"

namespace opwright::ascendc {

// Fills in a call as the functions see it.
void fill_node(const Operator& op, const Operands& operands, std::initializer_list<Bound> arguments, Node& node);

// Runs shape and dtype inference and compares with the outputs that were passed, as graphs do. Throws 561001.
void check_inference(const Operator& op, const Operands& operands, std::initializer_list<Bound> arguments);

// Throws 561002 with what is wrong with the function's result.
void run_tiling(InstalledOperator& installed, Node& node);

}  // namespace opwright::ascendc
