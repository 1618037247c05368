// native/runtime/fault.cpp
// Everything here runs in a signal handler: no locks, no allocation, only write(2). Where the order of accesses is
// checked, order/host_accesses.cpp says why its part may do both.
#include "runtime/fault.h"

#include <sched.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "runtime/memory/access.h"
#include "runtime/memory/guard/arena.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/shared_memory.h"
#include "runtime/order/host_accesses.h"
#include "runtime/streams/stream.h"

namespace opwright {
namespace {

struct sigaction previous_action;

void put(const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

void put_hex(uintptr_t value) {
  char digits[2 + 2 * sizeof value + 1] = "0x";
  for (size_t i = 0; i < 2 * sizeof value; ++i) {
    digits[2 + i] = "0123456789abcdef"[value >> (8 * sizeof value - 4 - 4 * i) & 0xF];
  }
  digits[sizeof digits - 1] = '\0';
  put(digits);
}

void put_number(int value) {
  char digits[12];
  char* cursor = digits + sizeof digits - 1;
  *cursor = '\0';
  do {
    *--cursor = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  put(cursor);
}

void explain(const siginfo_t* info) {
  const Task* const task = Stream::current_task();
  if (memory::is_device_address(info->si_addr)) {
    put("\nopwright: fault: host code dereferenced the device address ");
    put_hex(reinterpret_cast<uintptr_t>(info->si_addr));
    put(" (device ");
    put_number(memory::device_of(info->si_addr));
    put(").\n  The CPU cannot read or write device memory, on hardware as here. Copy the tensor first (tensor.cpu()),\n"
        "  or do the work in an operator.\n");
  } else if (guard::is_in_arena(reinterpret_cast<uintptr_t>(info->si_addr))) {
    put("\nopwright: fault: too many accesses outside of the operands of a kernel, the last one at ");
    put_hex(reinterpret_cast<uintptr_t>(info->si_addr));
    put(".\n");
  } else if (task != nullptr) {
    put("\nopwright: fault: invalid memory access at ");
    put_hex(reinterpret_cast<uintptr_t>(info->si_addr));
    put(".\n");
  } else {
    return;  // not ours to explain
  }
  if (task != nullptr) {
    put("  It happened inside the kernel of ");
    put(task->name());
    put(".\n");
  }
}

guard::Hit hit_of(const siginfo_t* info, const void* context) {
  const Task* const task = Stream::current_task();
  guard::Hit hit{reinterpret_cast<uintptr_t>(info->si_addr), 0, -1, task != nullptr ? task->name() : nullptr};
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
  hit.written = static_cast<int>(access_of(machine));
#if defined(__x86_64__)
  hit.code = static_cast<uintptr_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  hit.code = machine.pc;
#endif
  return hit;
}

std::atomic<int> handing_on{0};
std::atomic<bool (*)(int, const siginfo_t*, const void*)> interceptor{nullptr};

void on_fault(int number, siginfo_t* info, void* context) {
  if (guard::let_through(hit_of(info, context))) return;
  if (order::note_fault(*info, context)) return;
  if (memory::is_moving(info->si_addr)) {
    sched_yield();  // a handler can wait for nothing else
    return;
  }
  const auto intercept = interceptor.load();
  if (intercept != nullptr && intercept(number, info, context)) return;
  if (handing_on.load() > 0) {  // Python's faulthandler raises the signal again, for the handler before it: for us
    signal(number, SIG_DFL);
    return;
  }
  explain(info);
  if ((previous_action.sa_flags & SA_SIGINFO) != 0 && previous_action.sa_sigaction != nullptr) {
    handing_on.fetch_add(1);
    previous_action.sa_sigaction(number, info, context);
    handing_on.fetch_sub(1);
    return;
  }
  if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    handing_on.fetch_add(1);
    previous_action.sa_handler(number);
    handing_on.fetch_sub(1);
    return;
  }
  signal(number, SIG_DFL);  // returning repeats the access, which now ends the process with the right status
}

}  // namespace

void install_fault_handler() noexcept {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  struct sigaction present = {};
  if (sigaction(SIGSEGV, nullptr, &present) != 0) return;
  if ((present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == on_fault) return;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  previous_action = present;
  sigaction(SIGSEGV, &action, nullptr);
}

void intercept_faults(bool (*intercept)(int, const siginfo_t*, const void*)) noexcept {
  interceptor.store(intercept);
  install_fault_handler();
}

}  // namespace opwright
