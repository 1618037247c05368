// native/runtime/streams/long_wait.h
// Tasks that wait for what somebody else does. Whoever aborts a stream joins its worker, and may be the one whom a task
// of the stream waits for, so each of these waits ends when its stream is aborted.
//
// A wait for something that may never happen is reported after a while: for the record of an external event, or for a
// value in device memory, for which captured graphs wait until they are updated.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace opwright {

constexpr std::chrono::seconds kLongWait(10);

// Throws 507047 in sync mode, where the thread that would end the wait is the one that waits.
void require_wait_can_end(const std::string& what);

// Says once on standard error that a stream still waits, after kLongWait.
void report_long_wait(const std::string& what);

// For the task that waits: throws 507047 if its stream has been aborted. Nothing that follows the wait in its task may
// run.
void require_not_aborted(const std::string& what);

// In a process whose order is chosen (explore/explore.h) each of these lets other tasks run; `on` is the stream that
// has to, or explore::kAnyStream.

// Waits until `done`, which `lock` guards and `changed` announces. Throws as `require_not_aborted` does.
void wait_unless_aborted(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, const std::string& what,
                         int32_t on, const std::function<bool()>& done);

// The same, and reports a long wait.
void wait_long(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, const std::string& what,
               const std::function<bool()>& done);

}  // namespace opwright
