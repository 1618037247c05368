// native/nnopbase/dumped.h
// Runs of aclnn functions whose tensors are dumped (aclmdlSetDump with "dump_op_switch": "on").
#pragma once

#include "nnopbase/executor.h"

namespace opwright {

// `task` runs `executor`. Returns a task that dumps what the executor takes and gives, or `task` if nothing is dumped.
TaskPtr dumped(TaskPtr task, aclOpExecutor& executor);

}  // namespace opwright
