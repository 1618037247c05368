// native/nnopbase/overlap.h
// Operands that share memory so that an operator reads elements which it also writes, at other places.
#pragma once

#include <optional>

#include "nnopbase/executor.h"
#include "runtime/streams/capture/capture.h"

namespace opwright {

// The first output of the operator that shares elements with another operand of it which is another view of the memory:
// its result depends on the order in which a kernel computes the elements. The same view twice (x.add_(x)) does not.
// The cost grows with the elements of such operands; operands that lie apart cost a comparison.
OPWRIGHT_API std::optional<OrderDependence> order_dependence_of(aclOpExecutor& executor);

}  // namespace opwright
