// native/live/aclnn_kernel.cpp
#include "live/aclnn_kernel.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/clone.h>
#include <c10/core/DeviceGuard.h>

#include <atomic>
#include <utility>

#include "live/function.h"
#include "live/npu.h"
#include "live/sizes.h"
#include "live/values.h"

namespace opwright::live {
namespace {

using Tensors = c10::SmallVector<at::Tensor, 4>;

// The device that all tensors of a call must be on.
class CommonDevice {
 public:
  explicit CommonDevice(const Plan& plan) : plan_(plan) {}

  void check(size_t position, const c10::IValue& value) {
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      if (tensor.defined()) check(position, tensor);
    } else if (value.isList()) {
      for (const c10::IValue& item : value.toListRef()) check(position, item);
    }
  }
  std::optional<at::Device> found() const { return found_; }

 private:
  void check(size_t position, const at::Tensor& tensor) {
    const at::Device device = tensor.device();
    if (found_ && device == *found_) return;
    if (!tensor.is_privateuseone()) {
      if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return;  // a Python number: torch_npu copies it
      TORCH_CHECK(false, plan_.name, ": argument '", plan_.arguments[position], "' is on ", device,
                  ", but the operator's NPU kernel needs it on the NPU");
    }
    TORCH_CHECK(!found_, plan_.name, ": argument '", plan_.arguments[position], "' is on ", device, ", but argument '",
                plan_.arguments[first_], "' is on ", *found_);
    found_ = device;
    first_ = position;
  }

  const Plan& plan_;
  std::optional<at::Device> found_;
  size_t first_ = 0;
};

at::Device common_device(const Plan& plan, Arguments arguments) {
  CommonDevice device(plan);
  for (const size_t position : plan.tensors) device.check(position, arguments[position]);
  return device.found() ? *device.found() : npu::current_device();
}

c10::IValue cloned(const c10::IValue& value) {
  if (value.isNone() || (value.isTensor() && !value.toTensor().defined())) return value;
  if (value.isTensor()) return at::clone(value.toTensor());
  c10::List<at::Tensor> result;
  for (const at::Tensor& tensor : value.toTensorVector()) result.push_back(at::clone(tensor));
  return result;
}

class AclnnKernel final : public Kernel {
 public:
  explicit AclnnKernel(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  ~AclnnKernel() override { delete function_.load(); }

  void run(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) const override {
    const Plan& plan = *plan_;
    const size_t count = plan.arguments.size();
    c10::IValue* const first = stack->data() + (stack->size() - count);
    const Arguments arguments(first, count);
    const at::Device device = common_device(plan, arguments);
    const c10::DeviceGuard guard(device);
    if (!plan.clone.empty()) {
      const at::AutoDispatchBelowADInplaceOrView below;  // what is recorded is the operator, not its copies
      for (const size_t position : plan.clone) first[position] = cloned(first[position]);
    }
    const Tensors outputs = make_outputs(arguments, device);
    launch(arguments, outputs);
    give_results(arguments, outputs, stack);
  }

 private:
  Tensors make_outputs(Arguments arguments, at::Device device) const {
    Tensors result;
    for (const Output& output : plan_->outputs) {
      if (output.argument) {
        result.push_back(arguments[*output.argument].toTensor());
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
      results.push_back(entry.is_output ? outputs[entry.position] : arguments[entry.position].toTensor());
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
