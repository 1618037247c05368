// torch_npu/csrc/framework/utils/OpPreparation.h: allocation and checks of outputs.
//
// Of torch_npu's class of this name, libtorch_npu.so exports apply_tensor_without_format only. The
// rest of what kernels for aclnn use is here; what is not is an error of the compiler.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/resize_ops.h>
#include <acl/acl_base.h>
#include <c10/core/TensorOptions.h>
#include <op_plugin/utils/aclnn_call.h>

#include <initializer_list>

namespace at_npu {
namespace native {

class OpPreparation {
 public:
  __attribute__((visibility("default"))) static at::Tensor apply_tensor_without_format(const at::Tensor& src);
  __attribute__((visibility("default"))) static at::Tensor apply_tensor_without_format(const at::Tensor& src,
                                                                                       c10::IntArrayRef sizes);
  __attribute__((visibility("default"))) static at::Tensor apply_tensor_without_format(
      c10::IntArrayRef sizes, const c10::TensorOptions& options);

  // aclnn functions take no internal formats, so a tensor without format is what these return here.
  static at::Tensor apply_tensor(const at::Tensor& src) { return apply_tensor_without_format(src); }
  static at::Tensor apply_tensor(const at::Tensor& src, c10::IntArrayRef sizes) {
    return apply_tensor_without_format(src, sizes);
  }
  static at::Tensor apply_tensor(const at::Tensor& src, const c10::TensorOptions& options) {
    return apply_tensor_without_format(src.sizes(), options);
  }
  static at::Tensor apply_tensor(c10::IntArrayRef sizes, const c10::TensorOptions& options, const at::Tensor& /*src*/) {
    return apply_tensor_without_format(sizes, options);
  }
  static at::Tensor apply_tensor_with_sizes(c10::IntArrayRef sizes, const c10::TensorOptions& options) {
    return apply_tensor_without_format(sizes, options);
  }

  // Check a caller's output; one of another size is resized.
  static void check_tensor(const std::initializer_list<at::Tensor>& inputs, at::Tensor& output, at::ScalarType dtype,
                           c10::IntArrayRef sizes) {
    TORCH_CHECK(output.scalar_type() == dtype, "the output has dtype ", output.scalar_type(), "; expected ", dtype);
    check_tensor(inputs, output, sizes);
  }
  static void check_tensor(const std::initializer_list<at::Tensor>& inputs, at::Tensor& output,
                           const at::Tensor& expected) {
    check_tensor(inputs, output, expected.scalar_type(), expected.sizes());
  }
  static void check_tensor(const std::initializer_list<at::Tensor>& inputs, at::Tensor& output,
                           const at::Tensor& expected, c10::IntArrayRef sizes) {
    check_tensor(inputs, output, expected.scalar_type(), sizes);
  }
  static void check_tensor(const std::initializer_list<at::Tensor>& inputs, at::Tensor& output, at::ScalarType dtype) {
    check_tensor(inputs, output, dtype, output.sizes());
  }
  static void check_tensor(const std::initializer_list<at::Tensor>& inputs, at::Tensor& output,
                           c10::IntArrayRef sizes) {
    TORCH_CHECK(output.is_privateuseone(), "the output is on ", output.device(), "; expected an NPU");
    for (const at::Tensor& input : inputs) {
      TORCH_CHECK(!input.defined() || is_scalar_wrapped_to_tensor(input) || input.device() == output.device(),
                  "the output is on ", output.device(), ", but an input on ", input.device());
    }
    if (output.sizes() != sizes) {
      at::_ops::resize_::call(output, c10::fromIntArrayRefSlow(sizes), std::nullopt);
    }
  }

  static aclDataType convert_to_acl_data_type(at::ScalarType dtype) {
    return static_cast<aclDataType>(ConvertType(dtype));
  }
  static bool is_scalar_wrapped_to_tensor(const at::Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->is_wrapped_number() && !tensor.is_privateuseone();
  }
  static bool IsCPUScalar(const at::Tensor& tensor) { return tensor.dim() == 0 && !tensor.is_privateuseone(); }
};

}  // namespace native
}  // namespace at_npu
