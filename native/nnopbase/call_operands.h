// native/nnopbase/call_operands.h
// The tensors of a call with the memory that each of them touches.
#pragma once

#include <optional>
#include <vector>

#include "nnopbase/executor.h"

namespace opwright {

struct CallOperand {
  const aclTensor* tensor;
  size_t parameter;                  // of the call, from 0
  std::optional<MemoryRange> range;  // none for a tensor without elements
};

// In the order of the parameters, without those that are null. Throws ACLNN_ERR_INNER if the executor's
// `memory_ranges` are not one for each tensor with elements.
std::vector<CallOperand> operands_of(aclOpExecutor& executor);

}  // namespace opwright
