// native/opapi/documented_operands.h
// Dtypes, numbers of dimensions and equal shapes that CANN's pages give for operands. Phase 1 compares them for
// functions that torch_npu does not call (operands.tsv), and for the others in programs without torch_npu
// (program_operands.tsv): what torch_npu passes, its own checks have seen, and pages forbid some of it.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "nnopbase/objects.h"

namespace opwright::opapi {

// A parameter's tensors: one, those of a list, or none. Absent ones are null.
using Tensors = std::vector<const aclTensor*>;

// True once torch_npu is loaded: its own checks have seen what it passes.
bool is_beneath_torch_npu();

// Throws Error if an operand is none of those that the function's page allows. `list_parameters` is called if this
// process compares the operands of this function, and answers in the order of the parameters.
void require_documented(std::string_view function, const std::function<std::vector<Tensors>()>& list_parameters);

}  // namespace opwright::opapi
