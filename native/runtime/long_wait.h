// native/runtime/long_wait.h
// A task that waits for what somebody else may never do: external events and values in device memory. Captured graphs
// wait so for their updates.
#pragma once

#include <chrono>
#include <string>

namespace opwright {

constexpr std::chrono::seconds kLongWait(10);

// Throws 507047 in sync mode, where the thread that would end the wait is the one that waits.
void require_wait_can_end(const std::string& what);

// Says once on standard error that a stream still waits, after kLongWait.
void tell_of_long_wait(const std::string& what);

}  // namespace opwright
