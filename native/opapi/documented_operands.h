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

// A parameter that is a tensor, or a list of them. Absent ones are null.
struct NamedTensors {
  std::string_view name;
  std::vector<const aclTensor*> tensors;
};

// Throws Error if an operand is none of those that the function's page allows. `list_operands` is called if this
// process compares the operands of this function.
void require_documented(std::string_view function, const std::function<std::vector<NamedTensors>()>& list_operands);

}  // namespace opwright::opapi
