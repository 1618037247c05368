// native/opapi/static_kernels.cpp
// Static kernels are compiled for one shape and replace general ones. Every kernel here is general: with none to
// select, the choice that a process has is already the only one.
#include "opapi/opapi.h"

extern "C" OPWRIGHT_API aclnnStatus aclnnReselectStaticKernel() {
  return call("aclnnReselectStaticKernel", [] {});
}

extern "C" OPWRIGHT_API aclnnStatus aclnnReselectStaticKernelWithPath(const char* path) {
  return call(
      "aclnnReselectStaticKernelWithPath",
      [&] { require(path != nullptr, ACLNN_ERR_PARAM_NULLPTR, "parameter 'path' is null"); }, arg("path", path));
}
