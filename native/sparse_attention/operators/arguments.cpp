// native/sparse_attention/operators/arguments.cpp
#include "sparse_attention/operators/arguments.h"

#include "aclnn/acl_meta.h"
#include "runtime/error.h"

namespace opwright::sparse {

void require_one_device(std::initializer_list<Argument> arguments) {
  const Argument& first = *arguments.begin();
  for (const Argument& argument : arguments) {
    if (argument.tensor == nullptr) continue;
    require(argument.tensor->device() == first.tensor->device(), ACLNN_ERR_PARAM_INVALID, "parameter '", argument.name,
            "' is on device ", argument.tensor->device(), "; it must be on that of parameter '", first.name, "', ",
            first.tensor->device());
  }
}

}  // namespace opwright::sparse
