// native/nnopbase/executor.h
// What phase 1 of an aclnn function makes and phase 2 runs.
#pragma once

#include <memory>
#include <vector>

#include "aclnn/acl_meta.h"
#include "nnopbase/objects.h"
#include "runtime/task.h"

// An executor owns copies of all arguments, because callers destroy theirs as soon as phase 2 has returned, before the
// task has run. It is itself the task that phase 2 enqueues.
struct OPWRIGHT_API aclOpExecutor : public opwright::Task {
  // A second executor with the same arguments; phase 2 enqueues it when the first one is repeatable.
  virtual std::unique_ptr<aclOpExecutor> clone() const = 0;
  // The copied tensor descriptors in the order of the parameters; a list appears as its own vector.
  virtual std::vector<std::vector<aclTensor*>> tensors() = 0;
  // How many of the leading entries of `tensors` are inputs.
  virtual size_t input_count() const = 0;

  uint64_t workspace_size = 0;
  bool repeatable = false;
};

namespace opwright {

// Phase 2, the same for every aclnn function. Takes the executor over unless it is repeatable.
OPWRIGHT_API aclnnStatus execute(const char* function, void* workspace, uint64_t workspace_size,
                                 aclOpExecutor* executor, aclrtStream stream) noexcept;

}  // namespace opwright
