// native/ascendc/runtime/fault.cpp
#include "ascendc/runtime/fault.h"

#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "ascendc/runtime/report.h"
#include "runtime/fault.h"

namespace AscendC::machine {
namespace {

// A stack for the signals of a thread that has none, and where the thread's own stack ends.
class SignalStack {
 public:
  SignalStack() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      void* begin = nullptr;
      size_t bytes = 0;
      pthread_attr_getstack(&attributes, &begin, &bytes);
      pthread_attr_destroy(&attributes);
      end_ = reinterpret_cast<uintptr_t>(begin);
    }
    stack_t present = {};
    if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique<uint8_t[]>(kBytes);
    stack_t own = {};
    own.ss_sp = memory_.get();
    own.ss_size = kBytes;
    sigaltstack(&own, nullptr);
  }
  ~SignalStack() {
    if (memory_ == nullptr) return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

  // Whether code with this stack pointer has come to the end, and stumbled over it at `address`.
  bool used_up(uintptr_t pointer, uintptr_t address) const {
    constexpr uintptr_t kNear = 256 * 1024;  // frames of this size may lie across the end
    return end_ != 0 && pointer < end_ + kNear && address < end_ + kNear && address + kNear > pointer;
  }

 private:
  static constexpr size_t kBytes = 64 * 1024;
  std::unique_ptr<uint8_t[]> memory_;
  uintptr_t end_ = 0;
};

thread_local std::unique_ptr<SignalStack> signal_stack;
thread_local FaultFrame* fault_frame = nullptr;
struct sigaction previous_actions[NSIG];

// Leaves the kernel if the calling thread runs one.
bool leave_kernel(int number, const siginfo_t* info, const void* context) {
  FaultFrame* const frame = fault_frame;
  if (frame == nullptr) return false;
  fault_frame = nullptr;
  frame->number = number;
  frame->address = reinterpret_cast<uintptr_t>(info->si_addr);
  frame->address_known = info->si_code != SI_KERNEL;  // the processor reports none that has too many bits
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto code = static_cast<uintptr_t>(machine.gregs[REG_RIP]);
  const auto base = static_cast<uintptr_t>(machine.gregs[REG_RBP]);
  const auto stack = static_cast<uintptr_t>(machine.gregs[REG_RSP]);
#else
  const auto code = static_cast<uintptr_t>(machine.pc);
  const auto base = static_cast<uintptr_t>(machine.regs[29]);
  const auto stack = static_cast<uintptr_t>(machine.sp);
#endif
  frame->stack_used_up = number == SIGSEGV && signal_stack->used_up(stack, frame->address);
  // A function that made no frame yet, or a library without frame pointers, loses its callers, not its own place.
  const Site callers = base >= stack ? here(reinterpret_cast<const void*>(base)) : Site();
  frame->site.calls[0] = code + 1;
  for (size_t i = 1; i < Site::kDepth; ++i) frame->site.calls[i] = callers.calls[i - 1];
  siglongjmp(frame->jump, 1);
}

void on_signal(int number, siginfo_t* info, void* context) {
  leave_kernel(number, info, context);
  const struct sigaction& previous = previous_actions[number];
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
    previous.sa_sigaction(number, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(number);
  } else {
    signal(number, SIG_DFL);  // returning repeats what failed
  }
}

// exit() of a kernel would run the destructors of libraries that wait for this very thread.
void end_at_once() {
  if (fault_frame == nullptr) return;
  std::fprintf(stderr, "OPW-X002 the kernel called exit, %s\n", core_text().c_str());
  _exit(EXIT_FAILURE);
}

}  // namespace

void install_kernel_faults() {
  opwright::intercept_faults(leave_kernel);
  static std::once_flag once;
  std::call_once(once, [] {
    std::atexit(end_at_once);
    for (const int number : {SIGFPE, SIGBUS, SIGILL, SIGABRT}) {
      struct sigaction action = {};
      action.sa_sigaction = on_signal;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
      sigemptyset(&action.sa_mask);
      sigaction(number, &action, &previous_actions[number]);
    }
  });
}

void prepare_thread_for_faults() {
  if (signal_stack == nullptr) signal_stack = std::make_unique<SignalStack>();
}

FaultFrame* exchange_fault_frame(FaultFrame* frame) { return std::exchange(fault_frame, frame); }

}  // namespace AscendC::machine
