// native/live/checks.h
// What has to hold for the arguments of a call. What is said is part of the plan (opwright/declare/words.py).
#pragma once

#include "live/plan.h"
#include "live/sizes.h"

namespace opwright::live {

// Raises TypeError for a dtype, ValueError for anything else. What is about an argument that is None holds.
void check(const Plan& plan, Arguments arguments);

}  // namespace opwright::live
