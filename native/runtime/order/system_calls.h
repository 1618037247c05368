// native/runtime/order/system_calls.h
// System calls on buffers of the program. The kernel does not raise a signal for a page without rights but returns
// EFAULT, so the C library's functions are replaced by ones that check the buffer first.
#pragma once

namespace opwright::order {

// Redirects the calls of every loaded library. Cheap if no library has been loaded since the last call. Takes the
// loader's lock.
void follow_system_calls();

}  // namespace opwright::order
