// native/live/dispatcher/registration.h
// A boxed kernel in torch's dispatcher that can be removed while it runs.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace opwright::live {

// The work of a kernel; implementations are immutable, so that any number of threads can run them.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;
  virtual void run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) const = 0;
};

// Undo handle. The dispatcher may be calling the kernel on another thread when it is removed: the call that has begun
// keeps the kernel alive, a call that comes too late raises.
class Handle {
 public:
  Handle(c10::RegistrationHandleRAII registration, std::function<void()> release)
      : registration_(std::make_unique<c10::RegistrationHandleRAII>(std::move(registration))),
        release_(std::move(release)) {}
  ~Handle() { remove(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // A second call does nothing. The caller holds the GIL, which orders calls.
  void remove();

 private:
  std::unique_ptr<c10::RegistrationHandleRAII> registration_;
  std::function<void()> release_;
};

// The operator `space::name` (`name` with its overload after a dot), whose schema must be registered; raises if not.
c10::OperatorHandle find_operator(const std::string& space, const std::string& name);

// Registers a kernel of an operator under a dispatch key by its name.
std::unique_ptr<Handle> add_kernel(const c10::OperatorHandle& op, const std::string& key,
                                   std::shared_ptr<const Kernel> kernel);

}  // namespace opwright::live
