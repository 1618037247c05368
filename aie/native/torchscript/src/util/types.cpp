// util/types.cpp
#include "util/types.h"

#include <algorithm>

namespace torch_aie::core {

bool holds_tensor(const c10::TypePtr& type) {
  if (type->isSubtypeOf(*c10::TensorType::get())) return true;
  const auto contained = type->containedTypes();
  return std::any_of(contained.begin(), contained.end(), holds_tensor);
}

}  // namespace torch_aie::core
