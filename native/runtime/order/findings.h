// native/runtime/order/findings.h
// Findings: accesses that nothing orders. Each pair of places in the program is written to standard error once, and
// kept until somebody takes it (opwright_order_take). A process that ends with status 0 although nobody has taken a
// finding ends with kExitStatus instead, unless its orders are explored, which has exit statuses of its own.
#pragma once

#include "runtime/order/shadow.h"

namespace opwright::order {

constexpr int kExitStatus = 66;  // ThreadSanitizer's

void report(const Access& earlier, const Access& later);
// A replayed task uses memory of a tensor that was freed after the capture, at these lines of Python.
void report_freed(const Access& access, const std::string& freed_at);

}  // namespace opwright::order
