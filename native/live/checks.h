// native/live/checks.h
// What has to hold for the arguments of a call. The texts are those of the emitted C++ (opwright/emit/cpp/checks.py).
#pragma once

#include "live/plan.h"
#include "live/sizes.h"

namespace opwright::live {

// Raises TypeError for a dtype, ValueError for anything else. What is about an argument that is None holds.
void check(const Plan& plan, Arguments arguments);

}  // namespace opwright::live
