// Step 3: the NPU kernel of the PyTorch operator, which calls the device operator through aclnnMyInplace.
#include <ATen/DeviceGuard.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

// EXEC_NPU_CMD_EXT is the EXEC_NPU_CMD for extensions: the plain macro needs symbols that libtorch_npu.so hides.
#include <op_plugin/include/npu_cpp_extension.h>

namespace {

at::Tensor my_inplace_npu(const at::Tensor& x, const at::Tensor& y) {
  const c10::OptionalDeviceGuard guard(at::device_of(x));
  at::Tensor z = at::empty_like(y);
  EXEC_NPU_CMD_EXT(aclnnMyInplace, x, y, z);
  return z;
}

}  // namespace

TORCH_LIBRARY_IMPL(my_ops, PrivateUse1, m) { m.impl("my_inplace", &my_inplace_npu); }
