// native/user_kernels/python.cpp
#include "user_kernels/python.h"

#include "acl/acl_base.h"
#include "runtime/python.h"

namespace opwright::user_kernels {

void connect_python(const char* function) {
  call_python("opwright.twin.user_kernels.bridge", "connect", function, ACLNN_ERR_INNER_KERNEL_NOT_FOUND,
              "its reference function cannot be loaded: ");
}

}  // namespace opwright::user_kernels
