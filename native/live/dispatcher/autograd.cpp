// native/live/dispatcher/autograd.cpp
#include "live/dispatcher/autograd.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "live/dispatcher/python_values.h"

namespace opwright::live {
namespace {

// Calls `visit` for each tensor in an argument (Tensor, Tensor?, Tensor[], Tensor?[]) until it returns true.
template <class Visit>
bool any_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) return value.unsafeToTensorImpl() != nullptr && visit(value.toTensor());
  if (!value.isList()) return false;
  const auto values = value.toListRef();
  return std::any_of(values.begin(), values.end(), [&](const c10::IValue& item) { return any_tensor(item, visit); });
}

template <class Visit>
bool any_tensor(const torch::jit::Stack& stack, const std::vector<size_t>& positions, size_t count,
                const Visit& visit) {
  const c10::IValue* const first = stack.data() + (stack.size() - count);
  return std::any_of(positions.begin(), positions.end(), [&](size_t i) { return any_tensor(first[i], visit); });
}

bool has_tensors(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::TensorType ||
         (type->containedTypeSize() == 1 && has_tensors(type->containedType(0)));
}

// Raises unless each position is that of an argument with tensors.
void require_tensors(const c10::OperatorHandle& op, const std::vector<size_t>& positions) {
  const auto& arguments = op.schema().arguments();
  for (const size_t i : positions) {
    TORCH_CHECK_VALUE(i < arguments.size(), op.operator_name(), ": there is no argument ", i, "; the schema has ",
                      arguments.size());
    TORCH_CHECK_VALUE(has_tensors(arguments[i].type()), op.operator_name(), ": argument '", arguments[i].name(),
                      "' is ", arguments[i].type()->str(), ", which has no tensor");
  }
}

// Owns a Python object that the last of several threads lets go of.
class Callable {
 public:
  explicit Callable(pybind11::object function) : function_(std::move(function)) {}
  Callable(const Callable&) = delete;
  Callable& operator=(const Callable&) = delete;
  ~Callable() {
    if (Py_IsInitialized() == 0) {  // the interpreter has ended, and its objects with it
      function_.release();
      return;
    }
    const pybind11::gil_scoped_acquire locked;
    function_ = {};
  }
  const pybind11::object& operator*() const { return function_; }

 private:
  pybind11::object function_;
};

class Autograd final : public Kernel {
 public:
  Autograd(pybind11::object slow_path, std::vector<size_t> differentiable, size_t arguments)
      : slow_path_(std::move(slow_path)), differentiable_(std::move(differentiable)), arguments_(arguments) {}

  void run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) const override {
    if (!gradient_flows(*stack)) {
      const at::AutoDispatchBelowAutograd below;  // as torch.library.custom_op: nested calls record nothing either
      op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
      return;
    }
    const auto& schema = op.schema();
    const pybind11::gil_scoped_acquire locked;
    const PythonArguments given =
        python_arguments(schema, c10::ArrayRef<c10::IValue>(*stack).slice(stack->size() - arguments_));
    const pybind11::object result = (*slow_path_)(*given.args, **given.kwargs);
    torch::jit::drop(*stack, arguments_);
    push_results(schema, result, stack);
  }

 private:
  // A forward gradient goes to the slow path as well, which answers for it; below autograd it would be lost silently.
  bool gradient_flows(const torch::jit::Stack& stack) const {
    const bool recording = at::GradMode::is_enabled();
    return any_tensor(stack, differentiable_, arguments_, [&](const at::Tensor& tensor) {
      if (recording && tensor.requires_grad()) return true;
      return tensor.unsafeGetTensorImpl()->autograd_meta() != nullptr && tensor._fw_grad(/*level=*/0).defined();
    });
  }

  const Callable slow_path_;
  const std::vector<size_t> differentiable_;
  const size_t arguments_;
};

class Version final : public Kernel {
 public:
  Version(std::vector<size_t> mutated, size_t arguments) : mutated_(std::move(mutated)), arguments_(arguments) {}

  void run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) const override {
    c10::SmallVector<at::Tensor, 4> tensors;  // the call takes the arguments off the stack
    any_tensor(*stack, mutated_, arguments_, [&](const at::Tensor& tensor) {
      tensors.push_back(tensor);
      return false;
    });
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      op.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
    }
    for (const at::Tensor& tensor : tensors) tensor.unsafeGetTensorImpl()->bump_version();
  }

 private:
  const std::vector<size_t> mutated_;
  const size_t arguments_;
};

}  // namespace

std::shared_ptr<const Kernel> autograd_kernel(const c10::OperatorHandle& op, pybind11::object slow_path,
                                              std::vector<size_t> differentiable) {
  require_tensors(op, differentiable);
  return std::make_shared<Autograd>(std::move(slow_path), std::move(differentiable), op.schema().arguments().size());
}

std::shared_ptr<const Kernel> version_kernel(const c10::OperatorHandle& op, std::vector<size_t> mutated) {
  require_tensors(op, mutated);
  return std::make_shared<Version>(std::move(mutated), op.schema().arguments().size());
}

}  // namespace opwright::live
