// csrc/ops_common.cpp: calls of the device operators, checks of arguments, and gradients that are refused. The header
// with EXEC_NPU_CMD_EXT takes longer to compile than all else together, so all calls are here.
#include "ops_common.h"

#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>

#include <sstream>

// EXEC_NPU_CMD_EXT, the EXEC_NPU_CMD for extensions: the plain macro needs symbols that libtorch_npu.so hides.
#include <op_plugin/include/npu_cpp_extension.h>

namespace custom_pypto {
namespace {

std::string text(const std::vector<Size>& shape) {
  std::ostringstream out;
  for (const Size& size : shape) {
    out << (out.tellp() == 0 ? "[" : ", ");
    std::visit([&](const auto& value) { out << value; }, size);
  }
  out << ']';
  return out.str();
}

}  // namespace

void exec_add_custom(const at::Tensor& x, const at::Tensor& y, at::Tensor& z) {
  EXEC_NPU_CMD_EXT(aclnnAddCustom, x, y, z);
}

void exec_lightning_indexer_pto(at::TensorList x, int64_t sparse_count, at::Tensor& y) {
  const at::TensorList results = y;
  double score_scale = 1.0;  // the prototype has it, and the device operator does not use it
  EXEC_NPU_CMD_EXT(aclnnLightningIndexerPto, x, score_scale, sparse_count, results);
}

void exec_sparse_attention_pto(at::TensorList x, at::Tensor& y) {
  const at::TensorList results = y;
  EXEC_NPU_CMD_EXT(aclnnSparseAttentionPto, x, results);
}

void Arguments::tensor(const char* name, const at::Tensor& value, at::ScalarType dtype,
                       const std::vector<Size>& shape) {
  TORCH_CHECK(value.scalar_type() == dtype, op_, ": ", name, " must be ", dtype, ", got ", value.scalar_type());
  if (!device_) device_ = value.device();
  TORCH_CHECK(value.device() == *device_, op_, ": ", name, " must be on ", *device_, " like the first tensor, got ",
              value.device());
  const c10::SymIntArrayRef sizes = value.sym_sizes();
  TORCH_CHECK(sizes.size() == shape.size(), op_, ": ", name, " must have the shape ", text(shape), ", got ", sizes);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (const int64_t* number = std::get_if<int64_t>(&shape[axis])) {
      TORCH_SYM_CHECK(sizes[axis].sym_eq(*number), op_, ": ", name, " must have the shape ", text(shape), ", got ",
                      sizes);
      continue;
    }
    const char* const symbol = std::get<const char*>(shape[axis]);
    const c10::SymInt& expected = sizes_.emplace(symbol, sizes[axis]).first->second;
    TORCH_SYM_CHECK(sizes[axis].sym_eq(expected), op_, ": ", name, " must have the shape ", text(shape), " with ",
                    symbol, " = ", expected, ", got ", sizes);
  }
}

void Arguments::tensor(const char* name, const std::optional<at::Tensor>& value, at::ScalarType dtype,
                       const std::vector<Size>& shape) {
  TORCH_CHECK(value.has_value() && value->defined(), op_, ": ", name, " must be given: ", dtype, " ", text(shape));
  tensor(name, *value, dtype, shape);
}

void Arguments::in_place(const char* name, const at::Tensor& value) const {
  TORCH_CHECK(value.is_contiguous(), op_, ": ", name, " is written in place and must be contiguous, got strides ",
              value.sym_strides());
}

void Arguments::between(const char* size, int64_t least, const c10::SymInt& most) const {
  const c10::SymInt& value = this->size(size);
  TORCH_SYM_CHECK(value.sym_ge(least), op_, ": ", size, " must be from ", least, " to ", most, ", got ", value);
  TORCH_SYM_CHECK(value.sym_le(most), op_, ": ", size, " must be from ", least, " to ", most, ", got ", value);
}

void Arguments::only(const char* name, std::string_view value, std::string_view allowed) const {
  TORCH_CHECK(value == allowed, op_, ": ", name, " must be '", allowed, "', got '", value, "'");
}

void Arguments::only(const char* name, int64_t value, int64_t allowed) const {
  TORCH_CHECK(value == allowed, op_, ": ", name, " must be ", allowed, ", got ", value);
}

void Arguments::absent(const char* name, const std::optional<at::Tensor>& value, const char* why) const {
  TORCH_CHECK(!value.has_value() || !value->defined(), op_, ": ", name, " must be None: ", why);
}

void not_differentiable(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const auto given = torch::jit::last(*stack, arguments.size());
  for (size_t index = 0; index < arguments.size(); ++index) {
    if (!given[index].isTensor()) continue;
    const at::Tensor& tensor = given[index].toTensor();
    if (!tensor.defined()) continue;
    TORCH_CHECK_NOT_IMPLEMENTED(!(at::GradMode::is_enabled() && tensor.requires_grad()), op.schema().name(),
                                " has no derivative, but ", arguments[index].name(),
                                " requires a gradient; call it under torch.no_grad() or with detached tensors");
    const auto* const alias = arguments[index].alias_info();
    if (alias != nullptr && alias->isWrite() && !tensor.is_inference()) {
      tensor.unsafeGetTensorImpl()->bump_version();
    }
  }
  op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
}

}  // namespace custom_pypto
