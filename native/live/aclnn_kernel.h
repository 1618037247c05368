// native/live/aclnn_kernel.h
// The PrivateUse1 kernel of an operator: outputs from the rules, then an aclnn function on the current stream.
#pragma once

#include <memory>

#include "live/plan.h"
#include "live/registration.h"

namespace opwright::live {

std::shared_ptr<const Kernel> aclnn_kernel(std::shared_ptr<const Plan> plan);

}  // namespace opwright::live
