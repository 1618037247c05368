// native/runtime/order/python_lines.h
// Where a Python program is, for tasks that it launches.
#pragma once

#include <string>

#include "runtime/error.h"
#include "runtime/order/place.h"

namespace opwright::order {

// The innermost lines of the calling thread that are not torch's or torch_npu's: "train.py:10 in step", one a line.
// Empty on threads without Python: autograd's, torch_npu's consumer.
OPWRIGHT_API std::string python_lines();
// The same of a place that was noted before.
std::string python_lines(Place& place);

// The same lines as they stand below a line of a report.
std::string indent(const std::string& lines);

}  // namespace opwright::order
