// native/runtime/order/findings.h
// Findings: accesses that nothing orders. Each pair of places in the program is written to standard error once, and
// kept until somebody takes it (opwright_order_take).
#pragma once

#include "runtime/order/shadow.h"

namespace opwright::order {

void report(const Access& earlier, const Access& later);

}  // namespace opwright::order
