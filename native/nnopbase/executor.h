// native/nnopbase/executor.h
// The executor that phase 1 of an aclnn function makes and phase 2 runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "nnopbase/objects.h"
#include "nnopbase/validate.h"
#include "runtime/call.h"
#include "runtime/fork.h"
#include "runtime/streams/task.h"

// An executor owns copies of all arguments, because callers destroy theirs as soon as phase 2 has returned, before the
// task has run. It is itself the task that phase 2 enqueues.
struct OPWRIGHT_API aclOpExecutor : public opwright::Task {
  ~aclOpExecutor() override { state_ = State::kGone; }

  // False for one that phase 2 has taken or that was destroyed, as long as nothing else has its memory: a best effort,
  // for programs that use an executor twice.
  bool is_usable() const noexcept { return state_ == State::kUsable; }
  void take() noexcept { state_ = State::kTaken; }

  // A second executor with the same arguments; phase 2 enqueues it when the first one is repeatable.
  virtual std::unique_ptr<aclOpExecutor> clone() const = 0;
  // The copied tensor descriptors in the order of the parameters; a list appears as its own vector.
  virtual std::vector<std::vector<aclTensor*>> tensors() = 0;
  // How many of the leading entries of `tensors` are inputs.
  virtual size_t input_count() const = 0;
  // The error of phase 1, if that is all there is to run.
  virtual const opwright::Error* failure() const noexcept { return nullptr; }

  uint64_t workspace_size = 0;
  int device = opwright::kNoOperands;  // where the tensors lie
  bool repeatable = false;
  // Makes the task that the stream gets where phase 2 refuses the executor, for the reason given. Empty for operators
  // that nobody waits for.
  std::function<opwright::TaskPtr(const std::string& reason)> make_substitute;

 private:
  enum class State : uint32_t { kUsable = 0x45786563, kTaken = 0x54616B65, kGone = 0x476F6E65 };
  // Volatile: it is read when the object may be gone, so that the last value has to be in memory.
  volatile State state_ = State::kUsable;
};

namespace opwright {

// Puts the calling thread's recent error into `executor`; answers what phase 1 answers.
OPWRIGHT_API aclnnStatus leave_failure(const char* phase1, const char* function, int status,
                                       aclOpExecutor** executor) noexcept;

// Phase 1, the same for every aclnn function: `make` checks and copies the arguments. `function` has static storage.
//
// Beside its error, a failed phase 1 leaves an executor that knows the error, because torch_npu's macros for extensions
// (EXEC_NPU_CMD in a wheel) ignore the status and go on to phase 2, which then says what was wrong. On torch_npu's
// consumer thread phase 1 leaves it to phase 2 to fail (see runtime/streams/consumer_thread.h).
template <class Make>
aclnnStatus prepare(const char* phase1, const char* function, uint64_t* workspace_size, aclOpExecutor** executor,
                    const Make& make) noexcept {
  trace::Span span(phase1);
  const int status = call_in(span, phase1, [&] {
    uint64_t& size = out(workspace_size, "workspaceSize", ACLNN_ERR_PARAM_NULLPTR);
    aclOpExecutor*& result = out(executor, "executor", ACLNN_ERR_PARAM_NULLPTR);
    size = 0;
    result = nullptr;
    require_not_forked();
    begin_operands();
    std::unique_ptr<aclOpExecutor> made = make();
    made->device = device_of_operands();
    if (trace::enabled()) span.add(made->trace_args());
    size = made->workspace_size;
    result = made.release();
  });
  return status == ACL_SUCCESS ? status : leave_failure(phase1, function, status, executor);
}

// Phase 2, the same for every aclnn function. Takes the executor over unless it is repeatable.
OPWRIGHT_API aclnnStatus execute(const char* function, void* workspace, uint64_t workspace_size,
                                 aclOpExecutor* executor, aclrtStream stream) noexcept;

}  // namespace opwright
