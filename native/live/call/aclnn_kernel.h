// native/live/call/aclnn_kernel.h
// The PrivateUse1 kernel of an operator: outputs from the rules, then an aclnn function on the current stream.
#pragma once

#include <memory>

#include "live/dispatcher/registration.h"
#include "live/plan/plan.h"

namespace opwright::live {

std::shared_ptr<const Kernel> aclnn_kernel(std::shared_ptr<const Plan> plan);

}  // namespace opwright::live
