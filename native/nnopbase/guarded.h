// native/nnopbase/guarded.h
// Kernels in guarded memory.
#pragma once

#include <memory>

#include "nnopbase/executor.h"

namespace opwright {

// The task that runs an executor. In guarded memory its operands lie in windows, unless the kernel is one of libopapi:
// those are ATen's.
TaskPtr task_of(std::unique_ptr<aclOpExecutor> executor);

// Runs it now, in the same way.
void run_now(aclOpExecutor& executor);

}  // namespace opwright
