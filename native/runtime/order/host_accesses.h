// native/runtime/order/host_accesses.h
// Accesses of the host's own code to pinned memory that a task on a stream still reads or writes. From its launch until
// the host has waited for the task, the pages that the task reads cannot be written by the host, and those that it
// writes cannot be touched. The fault is reported as a finding, and the access goes on.
#pragma once

#include <signal.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/memory/access.h"
#include "runtime/order/clock.h"
#include "runtime/order/shadow.h"

namespace opwright::order {

// Pinned memory whose access rights may change: the twin reaches it elsewhere.
void watch(uintptr_t begin, size_t bytes);
void unwatch(uintptr_t begin);

// `clock` has what the access is behind. Memory that nobody watches is left as it is.
void hold(const AccessPtr& access, const Clock& clock);
bool holds_any() noexcept;
// Lets go what happens before `seen`.
void let_go(const Clock& seen);

// A call of a function of a stream, which may run until this ends. Its accesses are not the host's: they are compared
// with what the call is not ordered with, also if the host has waited for that before the call runs.
class HostCall {
 public:
  HostCall(Moment before, Position position);
  ~HostCall();
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

  const Moment& before() const noexcept { return before_; }
  const Position& position() const noexcept { return position_; }

 private:
  const Moment before_;
  const Position position_;
};

// The call that the calling thread runs, or null. Returns the one before.
const HostCall* exchange_running_call(const HostCall* call) noexcept;

using Pages = std::pair<uintptr_t, uintptr_t>;  // begin and end

// While the kernel reads or writes a buffer in a system call of the program: its pages are open, and what conflicts is
// reported. Memory that nobody watches is left as it is.
class KernelAccess {
 public:
  // `function` lives as long as the process.
  KernelAccess(const char* function, opwright::Access kind, const void* begin, size_t bytes) noexcept;
  KernelAccess(const char* function, opwright::Access kind, const iovec* parts, size_t count) noexcept;
  ~KernelAccess();
  KernelAccess(const KernelAccess&) = delete;
  KernelAccess& operator=(const KernelAccess&) = delete;

 private:
  void open(const char* function, opwright::Access kind, const void* begin, size_t bytes) noexcept;

  std::vector<Pages> open_;
};

// In the handler of SIGSEGV: whether the access was to memory that is watched, and goes on.
bool note_fault(const siginfo_t& info, void* context) noexcept;

}  // namespace opwright::order
