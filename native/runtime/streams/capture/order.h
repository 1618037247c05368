// native/runtime/streams/capture/order.h
#pragma once

#include "runtime/streams/capture/capture.h"

namespace opwright {

// Hands the order dependences of a capture that has ended to Python, which knows whether a pass of a compiler made
// them. Throws 107029 if Python turns the warning into an error.
void report_order_dependences(const Capture& capture);

}  // namespace opwright
