// csrc/extension_add_meta.cpp: argument checks and outputs (shape, dtype, strides) of the operators.
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include "function.h"

namespace custom_ops {
namespace {

// AddCustom neither broadcasts nor promotes dtypes. Sizes are compared as symbols, so that a
// graph with dynamic shapes carries the check instead of being specialised by it.
void check_same_kind(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "myops::my_op: self and other must have the same dtype, got ",
              self.scalar_type(), " and ", other.scalar_type(), "; convert one of them first");
  TORCH_CHECK(self.device() == other.device(), "myops::my_op: self and other must be on the same device, got ",
              self.device(), " and ", other.device(), "; move one of them first");
  TORCH_CHECK(self.dim() == other.dim(), "myops::my_op: self and other must have the same shape, got ",
              self.sym_sizes(), " and ", other.sym_sizes(), "; the operator does not broadcast, call expand first");
  for (int64_t axis = 0; axis < self.dim(); ++axis) {
    TORCH_SYM_CHECK(self.sym_size(axis).sym_eq(other.sym_size(axis)),
                    "myops::my_op: self and other must have the same shape, got ", self.sym_sizes(), " and ",
                    other.sym_sizes(), "; the operator does not broadcast, call expand first");
  }
}

// Contiguous, whatever the strides of the model: the graph and the device then agree on the layout.
at::Tensor contiguous_like(const at::Tensor& model) {
  return at::empty_like(model, model.options(), at::MemoryFormat::Contiguous);
}

}  // namespace

at::Tensor my_op_meta(const at::Tensor& self, const at::Tensor& other) {
  check_same_kind(self, other);
  return contiguous_like(self);
}

std::tuple<at::Tensor, at::Tensor> my_op_backward_meta(const at::Tensor& grad_output) {
  return {contiguous_like(grad_output), contiguous_like(grad_output)};
}

}  // namespace custom_ops

TORCH_LIBRARY_IMPL(myops, Meta, m) {
  m.impl("my_op", &custom_ops::my_op_meta);
  m.impl("my_op_backward", &custom_ops::my_op_backward_meta);
}
