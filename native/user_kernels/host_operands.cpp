// native/user_kernels/host_operands.cpp
// For the graph engine, whose intermediate tensors lie in host memory: runs an executor there, in the calling thread.
#include "acl/acl_base.h"
#include "nnopbase/guarded.h"
#include "runtime/call.h"
#include "runtime/memory/memory.h"
#include "runtime/streams/stream.h"

namespace {

// For fault messages: the task of the stream is the run of a whole graph, and this is one of its kernels.
struct CurrentTask {
  explicit CurrentTask(const opwright::Task* task) : before(opwright::Stream::exchange_current_task(task)) {}
  ~CurrentTask() { opwright::Stream::exchange_current_task(before); }
  CurrentTask(const CurrentTask&) = delete;
  CurrentTask& operator=(const CurrentTask&) = delete;
  const opwright::Task* before;
};

}  // namespace

// While `allowed` is not 0, functions that this thread calls take tensors in host memory. Returns what was set before.
extern "C" OPWRIGHT_API int32_t opwright_allow_host_operands(int32_t allowed) {
  return opwright::memory::allow_host_operands(allowed != 0);
}

// In place of phase 2. Takes the executor over.
extern "C" OPWRIGHT_API aclnnStatus opwright_run_executor(aclOpExecutor* executor) {
  const std::unique_ptr<aclOpExecutor> owned(executor);
  return opwright::call(owned ? owned->name() : "opwright_run_executor", [&] {
    opwright::require(owned != nullptr, ACLNN_ERR_PARAM_NULLPTR, "parameter 'executor' is null");
    if (const opwright::Error* const failure = owned->failure()) throw opwright::Error(*failure);
    const CurrentTask current(owned.get());
    opwright::run_now(*owned);
  });
}
