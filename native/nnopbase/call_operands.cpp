// native/nnopbase/call_operands.cpp
#include "nnopbase/call_operands.h"

#include <utility>

namespace opwright {

std::vector<CallOperand> operands_of(aclOpExecutor& executor) {
  const auto parameters = executor.tensors();
  std::vector<MemoryRange> ranges = executor.memory_ranges();
  std::vector<CallOperand> operands;
  size_t used = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (const aclTensor* const tensor : parameters[i]) {
      if (tensor == nullptr) continue;
      operands.push_back({tensor, i, std::nullopt});
      if (tensor->numel() == 0) continue;
      if (used < ranges.size()) operands.back().range = std::move(ranges[used]);
      ++used;
    }
  }
  require(used == ranges.size(), ACLNN_ERR_INNER, executor.name(), ": ", used, " operands have elements, but ",
          ranges.size(), " memory ranges are named");
  return operands;
}

}  // namespace opwright
