// benchmarks/live_call.cpp
// The operator that benchmarks/live_call.py compares the live tier with: written by hand, as torch_npu documents it.
#include <ATen/DeviceGuard.h>
#include <op_plugin/utils/op_api_common_base.h>
#include <torch/library.h>

namespace {

at::Tensor add(const at::Tensor& x, const at::Tensor& y, const at::Scalar& alpha) {
  const c10::OptionalDeviceGuard guard(at::device_of(x));
  at::Tensor out = at_npu::native::OpPreparation::apply_tensor_without_format(x);
  EXEC_NPU_CMD_EXT(aclnnAdd, x, y, alpha, out);
  return out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(opwright_live_call, library) {
  library.def("by_hand(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor");
  library.impl("by_hand", torch::dispatch(c10::DispatchKey::PrivateUse1, TORCH_FN(add)));
}
