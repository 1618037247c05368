// AddCustomKernelNpuApi.cpp: the kernel of npu_add_custom in eager mode, which calls aclnnAddCustom.
#include "op_plugin/OpApiInterface.h"
#include "op_plugin/utils/op_api_common.h"

namespace op_api {
using npu_preparation = at_npu::native::OpPreparation;

at::Tensor npu_add_custom(const at::Tensor& x, const at::Tensor& y) {
  // AddCustom neither broadcasts nor promotes dtypes.
  TORCH_CHECK(x.sizes() == y.sizes(), "npu_add_custom: x and y must have the same shape, got ", x.sizes(), " and ",
              y.sizes(), OPS_ERROR(ErrCode::PARAM));
  TORCH_CHECK(x.scalar_type() == y.scalar_type(), "npu_add_custom: x and y must have the same dtype, got ",
              x.scalar_type(), " and ", y.scalar_type(), OPS_ERROR(ErrCode::TYPE));
  at::Tensor result = npu_preparation::apply_tensor_without_format(x);
  EXEC_NPU_CMD(aclnnAddCustom, x, y, result);
  return result;
}

}  // namespace op_api
