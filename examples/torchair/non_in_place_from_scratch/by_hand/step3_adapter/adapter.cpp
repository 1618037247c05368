// Step 3: the NPU kernel of the PyTorch operator, which calls the device operator through aclnnMyOp.
#include <ATen/DeviceGuard.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <optional>

// EXEC_NPU_CMD_EXT is the EXEC_NPU_CMD for extensions: the plain macro needs symbols that libtorch_npu.so hides.
#include <op_plugin/include/npu_cpp_extension.h>

namespace {

at::Tensor my_op_npu(const at::Tensor& x, const std::optional<at::Tensor>& y, at::TensorList z, double attr1,
                     int64_t attr2) {
  const c10::OptionalDeviceGuard guard(at::device_of(x));
  at::Tensor out = at::empty_like(x);
  EXEC_NPU_CMD_EXT(aclnnMyOp, x, y, z, attr1, attr2, out);
  return out;
}

}  // namespace

TORCH_LIBRARY_IMPL(my_ops, PrivateUse1, m) { m.impl("my_op", &my_op_npu); }
