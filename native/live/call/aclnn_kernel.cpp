// native/live/call/aclnn_kernel.cpp
#include "live/call/aclnn_kernel.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/clone.h>
#include <c10/core/DeviceGuard.h>

#include <atomic>
#include <utility>

#include "live/call/function.h"
#include "live/call/values.h"
#include "live/npu/npu.h"
#include "live/rules/checks.h"
#include "live/rules/sizes.h"

namespace opwright::live {
namespace {

using Tensors = c10::SmallVector<at::Tensor, 4>;

// Calls `visit` for each defined tensor in a value.
template <class Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) for_each_tensor(item, visit);
  }
}

// The device that all tensors which are passed must be on. torch_npu takes no CPU tensor either, not even a number.
class CommonDevice {
 public:
  explicit CommonDevice(const Plan& plan) : plan_(plan) {}

  void check(size_t position, const at::Tensor& tensor) {
    const at::Device device = tensor.device();
    if (found_ && device == *found_) return;
    TORCH_CHECK(tensor.is_privateuseone(), plan_.name, ": argument '", plan_.arguments[position], "' is on ", device,
                ", but the operator's NPU kernel needs it on the NPU");
    TORCH_CHECK(!found_, plan_.name, ": argument '", plan_.arguments[position], "' is on ", device, ", but argument '",
                plan_.arguments[first_], "' is on ", *found_);
    found_ = device;
    first_ = position;
  }
  std::optional<at::Device> found() const { return found_; }

 private:
  const Plan& plan_;
  std::optional<at::Device> found_;
  size_t first_ = 0;
};

// The device of the tensors that are passed, else of the first one on an NPU, else the current one.
at::Device common_device(const Plan& plan, Arguments arguments) {
  CommonDevice device(plan);
  for (const size_t position : plan.passed) {
    for_each_tensor(arguments[position], [&](const at::Tensor& tensor) { device.check(position, tensor); });
  }
  std::optional<at::Device> found = device.found();
  for (size_t i = 0; i < arguments.size() && !found; ++i) {
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      if (tensor.is_privateuseone() && !found) found = tensor.device();
    });
  }
  return found ? *found : npu::current_device();
}

at::Tensor tensor_or_undefined(const c10::IValue& value) { return value.isNone() ? at::Tensor() : value.toTensor(); }

// An argument with each of its tensors replaced.
template <class Copy>
c10::IValue mapped(const c10::IValue& value, const Copy& copy) {
  if (value.isNone()) return value;
  if (value.isTensor()) return copy(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> result;
    for (const c10::IValue& item : value.toListRef()) result.push_back(copy(item.toTensor()));
    return result;
  }
  c10::List<std::optional<at::Tensor>> result;
  for (const c10::IValue& item : value.toListRef()) {
    result.push_back(item.isNone() ? std::optional<at::Tensor>() : copy(item.toTensor()));
  }
  return result;
}

c10::IValue cloned(const c10::IValue& value) {
  return mapped(value, [](const at::Tensor& tensor) { return tensor.defined() ? at::clone(tensor) : tensor; });
}

// Gives a function tensors without gaps while it is called; what it writes comes back.
class Contiguous {
 public:
  Contiguous(const Plan& plan, c10::IValue* first) : plan_(plan), first_(first) {
    for (const size_t position : plan.contiguous) {
      given_.push_back(first[position]);
      first[position] = mapped(first[position], [&](const at::Tensor& tensor) {
        if (!tensor.defined() || tensor.is_contiguous()) return tensor;
        at::Tensor copy = tensor.contiguous();
        if (plan.written[position]) back_.emplace_back(tensor, copy);
        return copy;
      });
    }
  }
  void finish() {
    for (auto& [tensor, copy] : back_) tensor.copy_(copy);
    for (size_t i = 0; i < given_.size(); ++i) first_[plan_.contiguous[i]] = given_[i];
  }

 private:
  const Plan& plan_;
  c10::IValue* const first_;
  c10::SmallVector<c10::IValue, 2> given_;
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 1> back_;
};

class AclnnKernel final : public Kernel {
 public:
  explicit AclnnKernel(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  ~AclnnKernel() override { delete function_.load(); }

  void run(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) const override {
    const Plan& plan = *plan_;
    const size_t count = plan.arguments.size();
    c10::IValue* const first = stack->data() + (stack->size() - count);
    const Arguments arguments(first, count);
    check(plan, arguments);
    const at::Device device = common_device(plan, arguments);
    const c10::DeviceGuard guard(device);
    if (!plan.clone.empty()) {
      const at::AutoDispatchBelowADInplaceOrView below;  // what is recorded is the operator, not its copies
      for (const size_t position : plan.clone) first[position] = cloned(first[position]);
    }
    const Tensors outputs = make_outputs(arguments, device);
    if (plan.contiguous.empty()) {
      launch(arguments, outputs);
    } else {
      const at::AutoDispatchBelowADInplaceOrView below;
      Contiguous contiguous(plan, first);
      launch(arguments, outputs);
      contiguous.finish();
    }
    give_results(arguments, outputs, stack);
  }

 private:
  Tensors make_outputs(Arguments arguments, at::Device device) const {
    Tensors result;
    for (const Output& output : plan_->outputs) {
      if (output.argument) {
        result.push_back(tensor_or_undefined(arguments[*output.argument]));
      } else {
        const Sizes sizes = evaluate(*plan_, output.shape, arguments);
        result.push_back(npu::empty(sizes, evaluate(*plan_, output.dtype, arguments), device));
      }
    }
    return result;
  }

  void launch(Arguments arguments, const Tensors& outputs) const {
    const Function& function = this->function();
    const npu::Phase1 context;
    auto objects = std::make_shared<npu::Objects>();
    const Values values = convert(*plan_, arguments, outputs, *objects);
    uint64_t workspace_size = 0;
    aclOpExecutor* executor = nullptr;
    const int status = function.phase1(*plan_, values, &workspace_size, &executor);
    TORCH_CHECK(status == 0, plan_->name, ": ", plan_->phase1, " failed with code ", status, ": ", npu::recent_error());
    npu::enqueue(plan_->function, function.phase2(), workspace_size, executor, context.stream(), std::move(objects));
  }

  // Looked up at the first call, because a package may be installed, or a reference declared, after the registration. A
  // failure is not remembered.
  const Function& function() const {
    const Function* known = function_.load(std::memory_order_acquire);
    if (known != nullptr) return *known;
    std::unique_ptr<const Function> found = find_function(*plan_);
    if (function_.compare_exchange_strong(known, found.get())) known = found.release();
    return *known;
  }

  void give_results(Arguments arguments, const Tensors& outputs, torch::jit::Stack* stack) const {
    Tensors results;
    for (const Return& entry : plan_->returns) {
      results.push_back(entry.is_output ? outputs[entry.position] : tensor_or_undefined(arguments[entry.position]));
    }
    torch::jit::drop(*stack, arguments.size());
    for (at::Tensor& result : results) stack->emplace_back(std::move(result));
  }

  const std::shared_ptr<const Plan> plan_;
  mutable std::atomic<const Function*> function_{nullptr};
};

}  // namespace

std::shared_ptr<const Kernel> aclnn_kernel(std::shared_ptr<const Plan> plan) {
  return std::make_shared<AclnnKernel>(std::move(plan));
}

}  // namespace opwright::live
