// csrc/ops_common.h: what the operators of this package share: calls of the device operators, checks of arguments, and
// gradients that are refused.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace custom_pypto {

// Send a device operator to the current stream, by its aclnn function. x is a list, in the order of the prototype's
// inputs x0, x1, ...; y is its only output.
void exec_add_custom(const at::Tensor& x, const at::Tensor& y, at::Tensor& z);
void exec_lightning_indexer_pto(at::TensorList x, int64_t sparse_count, at::Tensor& y);
void exec_sparse_attention_pto(at::TensorList x, at::Tensor& y);  // writes x10, x11 and x19

// A size of a tensor: a number, or the name of one that is the same wherever the name stands.
using Size = std::variant<int64_t, const char*>;

// Checks the arguments of one call. Sizes stay symbols, so that the checks hold in graphs with dynamic shapes, too.
// Each check throws an error that names the operator, the argument, what it got and what is allowed.
class Arguments {
 public:
  explicit Arguments(const char* op) : op_(op) {}

  // Shape, dtype and device; the first tensor says the device.
  void tensor(const char* name, const at::Tensor& value, at::ScalarType dtype, const std::vector<Size>& shape);
  // The same, for a tensor that must be given although the schema lets it be absent.
  void tensor(const char* name, const std::optional<at::Tensor>& value, at::ScalarType dtype,
              const std::vector<Size>& shape);
  // A cache, which the device operator writes where it lies.
  void in_place(const char* name, const at::Tensor& value) const;
  // The range of a named size.
  void between(const char* size, int64_t least, const c10::SymInt& most) const;
  // An argument that the device operator takes one value of.
  void only(const char* name, std::string_view value, std::string_view allowed) const;
  void only(const char* name, int64_t value, int64_t allowed) const;
  // An argument that the device operator does not take.
  void absent(const char* name, const std::optional<at::Tensor>& value, const char* why) const;

  const c10::SymInt& size(const char* name) const { return sizes_.at(name); }
  const char* op() const { return op_; }

 private:
  const char* op_;
  std::map<std::string, c10::SymInt, std::less<>> sizes_;
  std::optional<c10::Device> device_;
};

// The kernel of the autograd keys for operators without derivatives: an argument that requires a gradient is an error
// rather than a gradient that is silently missing. It marks for autograd what the operator writes, too.
void not_differentiable(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

}  // namespace custom_pypto
