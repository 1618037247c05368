// native/nnopbase/executor.cpp
#include "nnopbase/executor.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "nnopbase/dumped.h"
#include "nnopbase/guarded.h"
#include "nnopbase/overlap.h"
#include "runtime/device.h"
#include "runtime/memory/memory.h"
#include "runtime/streams/consumer_thread.h"

using namespace opwright;

namespace opwright {
namespace {

constexpr char kNull[] = "the executor is null: phase 1 (GetWorkspaceSize) failed or was not called";

// Phase 2 without an executor almost always follows a failed phase 1 whose status the caller ignored (the EXT macros
// do); the text of that failure is the one worth reading.
[[noreturn]] void reject_null() {
  const std::string cause = take_recent_message();
  fail(ACLNN_ERR_PARAM_NULLPTR, kNull, cause.empty() ? "" : "; the last error was: ", cause);
}

class FailedExecutor;

// Failed executors that no phase 2 has taken yet. Callers that look at the status of phase 1 never take theirs, so only
// the latest are kept; torch_npu's queue holds 4096 calls.
class Untaken {
 public:
  void add(FailedExecutor* executor);
  void remove(const FailedExecutor* executor) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = std::find(latest_.rbegin(), latest_.rend(), executor);
    if (it != latest_.rend()) latest_.erase(std::next(it).base());
  }

 private:
  static constexpr size_t kMost = 8192;
  std::mutex mutex_;
  std::deque<FailedExecutor*> latest_;
};

Untaken& untaken() {
  static Untaken* const instance = new Untaken();
  return *instance;
}

// The executor that a failed phase 1 leaves.
class FailedExecutor final : public aclOpExecutor {
 public:
  FailedExecutor(const char* function, Error error) : function_(function), error_(std::move(error)) {}
  ~FailedExecutor() override { untaken().remove(this); }

  void run() override { throw Error(error_); }
  const char* name() const noexcept override { return function_; }
  std::unique_ptr<aclOpExecutor> clone() const override { return std::make_unique<FailedExecutor>(function_, error_); }
  std::vector<std::vector<aclTensor*>> tensors() override { return {}; }
  size_t input_count() const override { return 0; }
  const Error* failure() const noexcept override { return &error_; }

 private:
  const char* const function_;
  const Error error_;
};

void Untaken::add(FailedExecutor* executor) {
  FailedExecutor* oldest = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    latest_.push_back(executor);
    if (latest_.size() > kMost) {
      oldest = latest_.front();
      latest_.pop_front();
    }
  }
  delete oldest;
}

void require_usable(const aclOpExecutor& executor) {
  require(executor.is_usable(), ACLNN_ERR_PARAM_INVALID,
          "the executor was used or destroyed before; one that serves several calls of phase 2 needs "
          "aclSetAclOpExecutorRepeatable first");
}

aclOpExecutor& given(aclOpExecutor* executor) {
  aclOpExecutor& result = out(executor, "executor", ACLNN_ERR_PARAM_NULLPTR);
  require_usable(result);
  return result;
}

aclTensor& tensor_at(aclOpExecutor& executor, size_t position, size_t within) {
  require(executor.repeatable, ACLNN_ERR_PARAM_INVALID, executor.name(),
          ": only a repeatable executor can get a new address; call aclSetAclOpExecutorRepeatable first");
  const auto tensors = executor.tensors();
  require(position < tensors.size() && within < tensors[position].size() && tensors[position][within] != nullptr,
          ACLNN_ERR_PARAM_INVALID, executor.name(), ": there is no tensor at position ", position, ", ", within);
  return *tensors[position][within];
}

aclnnStatus rebind(const char* function, aclOpExecutor* executor, size_t position, size_t within, void* address) {
  return call(function, [&] { tensor_at(given(executor), position, within).data = address; });
}

aclnnStatus rebind_output(const char* function, aclOpExecutor* executor, size_t position, size_t within,
                          void* address) {
  return call(function, [&] {
    aclOpExecutor& found = given(executor);
    tensor_at(found, found.input_count() + position, within).data = address;
  });
}

TaskPtr dumped_task_of(std::unique_ptr<aclOpExecutor> executor) {
  aclOpExecutor& running = *executor;
  return dumped(task_of(std::move(executor)), running);
}

void require_runnable(const aclOpExecutor& executor, void* workspace, uint64_t workspace_size, const Stream& target) {
  if (const Error* const failure = executor.failure()) throw Error(*failure);
  require(workspace != nullptr || workspace_size == 0, ACLNN_ERR_PARAM_NULLPTR,
          "the workspace is null, but its size is given as ", workspace_size);
  require(workspace_size >= executor.workspace_size, ACLNN_ERR_PARAM_INVALID, "the workspace has ", workspace_size,
          " bytes, but phase 1 asked for ", executor.workspace_size);
  if (workspace_size > 0) {
    memory::checked_alias(workspace, workspace_size, "workspace", ACLNN_ERR_PARAM_INVALID);
  }
  require(executor.device == kNoOperands || executor.device == target.device(), ACLNN_ERR_PARAM_INVALID,
          "the tensors lie on device ", executor.device, ", but the stream belongs to device ", target.device());
}

// Nobody waits for what a capture records.
void submit_substitute(const aclOpExecutor& executor, Stream& target, const Error& error) {
  if (!executor.make_substitute || target.sink() != nullptr) return;
  target.submit(executor.make_substitute(error.text()));
}

void record(Capture& capture, Stream& stream, std::unique_ptr<aclOpExecutor> executor) {
  auto dependence = order_dependence_of(*executor);
  stream.submit(dumped_task_of(std::move(executor)));
  if (dependence) capture.add_order_dependence(std::move(*dependence));
}

}  // namespace

aclnnStatus leave_failure(const char* phase1, const char* function, int status, aclOpExecutor** executor) noexcept {
  if (executor == nullptr) return status;
  try {
    const std::string& message = recent_message();
    const std::string prefix = text(phase1, ": ");
    const bool prefixed = message.compare(0, prefix.size(), prefix) == 0;
    auto failed =
        std::make_unique<FailedExecutor>(function, Error(status, prefixed ? message.substr(prefix.size()) : message));
    untaken().add(failed.get());
    *executor = failed.release();
  } catch (const std::bad_alloc&) {
    return status;  // phase 2 reports the null executor
  }
  return on_consumer_thread() ? ACL_SUCCESS : status;
}

aclnnStatus execute(const char* function, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                    aclrtStream stream) noexcept {
  return call_on_stream(
      function, stream,
      [&] {
        if (executor == nullptr) reject_null();
        require_usable(*executor);
        std::unique_ptr<aclOpExecutor> owned(executor->repeatable ? nullptr : executor);
        if (owned != nullptr) owned->take();
        const auto target = stream_of(stream);
        try {
          require_runnable(*executor, workspace, workspace_size, *target);
        } catch (const Error& error) {
          submit_substitute(*executor, *target, error);
          throw;
        }
        if (owned == nullptr) owned = executor->clone();
        if (const auto capture = capture_of(*target)) return record(*capture, *target, std::move(owned));
        target->submit(dumped_task_of(std::move(owned)));
      },
      arg("workspaceSize", workspace_size));
}

}  // namespace opwright

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  return call("aclSetAclOpExecutorRepeatable", [&] { given(executor).repeatable = true; });
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  return call("aclDestroyAclOpExecutor", [&] { delete &given(executor); });
}

// The caller's tensor objects are not looked at: the executor holds copies, found by position.
#define REBIND(NAME, FUNCTION)                                                            \
  aclnnStatus NAME(aclOpExecutor* executor, const size_t index, aclTensor*, void* addr) { \
    return FUNCTION(#NAME, executor, index, 0, addr);                                     \
  }
#define REBIND_DYNAMIC(NAME, FUNCTION)                                                                                \
  aclnnStatus NAME(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex, aclTensorList*, void* addr) { \
    return FUNCTION(#NAME, executor, irIndex, relativeIndex, addr);                                                   \
  }
REBIND(aclSetTensorAddr, rebind)
REBIND(AclSetTensorAddr, rebind)
REBIND(aclSetInputTensorAddr, rebind)
REBIND(AclSetInputTensorAddr, rebind)
REBIND(aclSetOutputTensorAddr, rebind_output)
REBIND(AclSetOutputTensorAddr, rebind_output)
REBIND_DYNAMIC(aclSetDynamicTensorAddr, rebind)
REBIND_DYNAMIC(AclSetDynamicTensorAddr, rebind)
REBIND_DYNAMIC(aclSetDynamicInputTensorAddr, rebind)
REBIND_DYNAMIC(AclSetDynamicInputTensorAddr, rebind)
REBIND_DYNAMIC(aclSetDynamicOutputTensorAddr, rebind_output)
REBIND_DYNAMIC(AclSetDynamicOutputTensorAddr, rebind_output)
