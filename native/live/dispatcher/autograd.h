// native/live/dispatcher/autograd.h
// The kernels above an operator's own: autograd and version counters.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

#include "live/dispatcher/registration.h"

namespace opwright::live {

// Autograd. If no gradient can flow from the `differentiable` arguments, the next kernel below autograd is called and
// nothing of Python is involved. Otherwise `slow_path` is called with the schema's arguments and returns its results.
std::shared_ptr<const Kernel> autograd_kernel(const c10::OperatorHandle& op, pybind11::object slow_path,
                                              std::vector<size_t> differentiable);

// ADInplaceOrView: calls the next kernel, then bumps the version of the tensors in the `mutated` arguments.
std::shared_ptr<const Kernel> version_kernel(const c10::OperatorHandle& op, std::vector<size_t> mutated);

}  // namespace opwright::live
