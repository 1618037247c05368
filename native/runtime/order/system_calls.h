// native/runtime/order/system_calls.h
// Buffers that the program gives to the kernel. The kernel raises no signal for a page without rights, it answers
// EFAULT; so the calls of the C library that lead there are led through here first.
#pragma once

namespace opwright::order {

// Leads the calls of all libraries that are loaded by now through here. Costs a look at the list of libraries if none
// has come since the last time. Takes the loader's lock.
void follow_system_calls();

}  // namespace opwright::order
