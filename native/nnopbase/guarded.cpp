// native/nnopbase/guarded.cpp
#include "nnopbase/guarded.h"

#include <dlfcn.h>

#include <string>

#include "runtime/memory/guard/guard.h"
#include "runtime/memory/guard/windows.h"

namespace opwright {
namespace {

// Names are literals of the library that has the kernel; those of user kernels are literals of the user's library.
bool is_of_opapi(const char* function) {
  Dl_info info = {};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return false;
  const std::string file = info.dli_fname;
  return file.substr(file.find_last_of('/') + 1) == "libopapi.so";
}

bool is_guarded(const aclOpExecutor& executor) { return guard::enabled() && !is_of_opapi(executor.name()); }

class GuardedTask final : public Task {
 public:
  explicit GuardedTask(std::unique_ptr<aclOpExecutor> executor) : executor_(std::move(executor)) {}

  void run() override { guard::run_guarded(*executor_); }
  const char* name() const noexcept override { return executor_->name(); }
  std::string trace_args() const override { return executor_->trace_args(); }
  std::vector<MemoryRange> memory_ranges() override { return executor_->memory_ranges(); }
  const char* capture_obstacle() const noexcept override { return executor_->capture_obstacle(); }
  bool is_bookkeeping() const noexcept override { return executor_->is_bookkeeping(); }
  // `expect_replays` is not handed on: an executor would keep tensors, whose windows differ from run to run.

 private:
  const std::unique_ptr<aclOpExecutor> executor_;
};

}  // namespace

TaskPtr task_of(std::unique_ptr<aclOpExecutor> executor) {
  if (!is_guarded(*executor)) return executor;
  return std::make_unique<GuardedTask>(std::move(executor));
}

void run_now(aclOpExecutor& executor) {
  if (!is_guarded(executor)) return executor.run();
  guard::run_guarded(executor);
}

}  // namespace opwright
