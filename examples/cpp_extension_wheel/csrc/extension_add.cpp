// csrc/extension_add.cpp: the NPU kernels, which call the device operator through its aclnn function.
#include <ATen/DeviceGuard.h>
#include <torch/library.h>

#include "function.h"

// EXEC_NPU_CMD_EXT is EXEC_NPU_CMD for extensions: the plain macro of op_api_common.h uses symbols
// that libtorch_npu.so does not export (g_hash_buf and others, torch_npu 2.13.0), so a library that
// contains it cannot be loaded.
#include <op_plugin/include/npu_cpp_extension.h>

namespace custom_ops {
namespace {

at::Tensor my_op_npu(const at::Tensor& self, const at::Tensor& other) {
  // Kernels registered with TORCH_LIBRARY_IMPL get no device guard: without this one the call
  // would go to the current device's stream even if self lives on another device.
  const c10::OptionalDeviceGuard guard(at::device_of(self));
  at::Tensor out = my_op_meta(self, other);
  if (out.numel() == 0) {
    return out;  // nothing to compute, and a device kernel cannot be launched on no data
  }
  EXEC_NPU_CMD_EXT(aclnnAddCustom, self, other, out);
  return out;
}

// d(self + other)/d(self) and d(self + other)/d(other) are both 1. The schema promises fresh
// results, so each is a copy: neither may share memory with grad_output or with the other one.
std::tuple<at::Tensor, at::Tensor> my_op_backward_npu(const at::Tensor& grad_output) {
  const c10::OptionalDeviceGuard guard(at::device_of(grad_output));
  auto [grad_self, grad_other] = my_op_backward_meta(grad_output);
  grad_self.copy_(grad_output);
  grad_other.copy_(grad_output);
  return {grad_self, grad_other};
}

}  // namespace
}  // namespace custom_ops

TORCH_LIBRARY_IMPL(myops, PrivateUse1, m) {
  m.impl("my_op", &custom_ops::my_op_npu);
  m.impl("my_op_backward", &custom_ops::my_op_backward_npu);
}
