// native/opapi/ops/common/refusal.h
// Parameters that a function has and does not compute with: most are reserved, a few are of forms that are not here.
#pragma once

#include <initializer_list>

#include "opapi/opapi.h"

namespace opwright::opapi {

struct NamedTensor {
  const OptionalTensor& tensor;
  const char* name;
};

// Null and empty tensors are not given.
inline void refuse(std::initializer_list<NamedTensor> parameters, const char* reason = "it is not available") {
  for (const auto& [tensor, name] : parameters) {
    require(!tensor || tensor->numel() == 0, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is given; ", reason,
            "; allowed: null");
  }
}

}  // namespace opwright::opapi
