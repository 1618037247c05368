// native/live/dispatcher/registration.cpp
#include "live/dispatcher/registration.h"

#include <c10/core/DispatchKey.h>

#include <mutex>

namespace opwright::live {
namespace {

// The dispatcher's object. It is never freed: the dispatcher calls it through a pointer that it read without a lock,
// so that a removal on another thread could free it in between. What is behind `kernel_` is freed.
class Shell final : public c10::OperatorKernel {
 public:
  explicit Shell(std::shared_ptr<const Kernel> kernel) : kernel_(std::move(kernel)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const std::shared_ptr<const Kernel> kernel = current();
    TORCH_CHECK(kernel != nullptr, op.operator_name(), ": the operator was removed while it was called");
    kernel->run(op, keys, stack);
  }
  void empty() {
    std::shared_ptr<const Kernel> last;  // freed after the lock, because it may wait for the GIL
    const std::lock_guard<std::mutex> lock(mutex_);
    last.swap(kernel_);
  }

 private:
  std::shared_ptr<const Kernel> current() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return kernel_;
  }

  std::mutex mutex_;
  std::shared_ptr<const Kernel> kernel_;
};

c10::OperatorName split(const std::string& space, const std::string& name) {
  const size_t dot = name.find('.');
  return {space + "::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)};
}

}  // namespace

void Handle::remove() {
  registration_.reset();
  if (release_) std::exchange(release_, nullptr)();
}

c10::OperatorHandle find_operator(const std::string& space, const std::string& name) {
  const c10::OperatorName full = split(space, name);
  const auto op = c10::Dispatcher::singleton().findSchema(full);
  TORCH_CHECK(op.has_value(), full, ": no such operator; define its schema before its kernels");
  return *op;
}

std::unique_ptr<Handle> add_kernel(const c10::OperatorHandle& op, const std::string& key,
                                   std::shared_ptr<const Kernel> kernel) {
  auto* const shell = new Shell(std::move(kernel));
  auto owned = std::unique_ptr<Shell>(shell);
  auto function = c10::KernelFunction::makeFromBoxedFunctor(std::move(owned));
  static_cast<void>(new c10::KernelFunction(function));  // holds the shell until the process ends
  auto registration = c10::Dispatcher::singleton().registerImpl(op.operator_name(), c10::parseDispatchKey(key),
                                                                std::move(function), std::nullopt, nullptr, "opwright");
  return std::make_unique<Handle>(std::move(registration), [shell] { shell->empty(); });
}

}  // namespace opwright::live
