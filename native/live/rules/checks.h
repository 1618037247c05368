// native/live/rules/checks.h
// Conditions on the arguments of a call. Their messages are part of the plan (opwright/kit/expressions/messages.py).
#pragma once

#include "live/plan/plan.h"
#include "live/rules/sizes.h"

namespace opwright::live {

// Raises TypeError for a dtype, ValueError for anything else. What is about an argument that is None holds.
void check(const Plan& plan, Arguments arguments);

}  // namespace opwright::live
