// native/ascendc/package/match.h
// Which column of the definition a call's dtypes and formats are.
#pragma once

#include "ascendc/package/definition.h"
#include "ascendc/package/operands.h"

namespace opwright::ascendc {

// The first column that fits; values are converted to its dtypes. Throws 161002 with all columns if none does, and for
// tensors that are not contiguous where the definition says nothing about them.
const Column& match(const Operator& op, Operands& operands);

// The format in which infer and tiling functions see a tensor.
ge::Format seen_format(const Operator& op, const aclTensor& tensor);

}  // namespace opwright::ascendc
