// native/live/call/reference.h
// A function whose only kernel is a reference function of the twin (opwright.twin.user_kernels): it needs no library,
// and so no compiler. The twin is found at run time; without it there is no such function.
#pragma once

#include <memory>
#include <string>

#include "live/call/function.h"

namespace opwright::live {

// Null if the twin is not there or has no such function.
std::unique_ptr<const Function> find_reference(const Plan& plan);

// Whether a function of a library calls this process's reference functions. It may have the parameters of an earlier
// declaration: the library stays loaded when a function is declared anew.
bool is_stand_in(void* function);

bool has_reference(const std::string& name);

}  // namespace opwright::live
