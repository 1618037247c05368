// native/live/plan/plan_reader.h
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <pybind11/pybind11.h>

#include <memory>

#include "live/plan/plan.h"

namespace opwright::live {

// Reads a plan and checks it against the operator's schema: whatever can be wrong with it at every call is refused
// here, with ValueError, operator and place.
std::shared_ptr<const Plan> read_plan(const c10::OperatorHandle& op, const pybind11::dict& plan);

}  // namespace opwright::live
