// Unlike others, these signal handlers may allocate and lock: the interrupted code reads or writes the user's data, so
// it is not inside of malloc, nor of anything here.
#include "runtime/order/host_accesses.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/fault.h"
#include "runtime/memory/access.h"
#include "runtime/memory/memory_space.h"
#include "runtime/order/findings.h"
#include "runtime/order/python_lines.h"
#include "runtime/order/system_calls.h"

namespace opwright::order {
namespace {

// Python's faulthandler gives the main thread a stack for signals that is too small for the names of its lines.
constexpr size_t kEnoughStack = 256 << 10;

// Each may split the memory of the process in three, of which the kernel allows 65530 parts by default, and is looked
// at whenever the rights of a page change.
constexpr size_t kMostHolds = 4096;

thread_local const HostCall* running_call = nullptr;

struct Hold {
  AccessPtr access;
  uintptr_t begin, end;  // whole pages
  Clock clock;           // what the access is behind
  bool seen = false;     // the host has waited for it; a call may still be beside it

  bool overlaps(uintptr_t first, uintptr_t last) const {
    return access->begin < last && first < access->begin + access->bytes;
  }
  bool has(uintptr_t address) const { return overlaps(address, address + 1); }
  bool conflicts_with(opwright::Access kind) const {
    if (!access->written && kind == opwright::Access::kRead) return false;
    return running_call == nullptr ? !seen : is_beside(*running_call);
  }
  bool is_beside(const HostCall& call) const {
    return !call.position().is_before(clock) && !is_before(*access, *call.before());
  }
};

struct Watch {
  std::mutex mutex;
  std::map<uintptr_t, uintptr_t> memory;  // end by begin
  std::vector<Hold> holds;
  std::vector<const HostCall*> calls;  // that have not ended
  std::vector<Pages> open;             // that the kernel uses now
};

Watch& watched() {
  static Watch* const instance = new Watch();
  return *instance;
}

std::atomic<size_t> held{0};  // how many holds there are

uintptr_t page_of(uintptr_t address) { return address / memory::page_bytes() * memory::page_bytes(); }

bool is_watched(uintptr_t address) {
  auto& memory = watched().memory;
  auto it = memory.upper_bound(address);
  return it != memory.begin() && address < std::prev(it)->second;
}

int rights_of(uintptr_t begin, uintptr_t end) {
  int rights = PROT_READ | PROT_WRITE;
  for (const auto& [first, last] : watched().open) {
    if (first < end && begin < last) return rights;
  }
  for (const Hold& hold : watched().holds) {
    if (hold.begin < end && begin < hold.end) rights &= hold.access->written ? PROT_NONE : PROT_READ;
  }
  return rights;
}

// Gives the pages the rights that the holds leave. The caller holds the mutex.
void update_rights(uintptr_t begin, uintptr_t end) {
  std::vector<uintptr_t> cuts = {begin, end};
  const auto cut = [&](uintptr_t first, uintptr_t last) {
    if (begin < first && first < end) cuts.push_back(first);
    if (begin < last && last < end) cuts.push_back(last);
  };
  for (const Hold& hold : watched().holds) cut(hold.begin, hold.end);
  for (const auto& [first, last] : watched().open) cut(first, last);
  std::sort(cuts.begin(), cuts.end());
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    if (cuts[i] == cuts[i + 1]) continue;
    mprotect(reinterpret_cast<void*>(cuts[i]), cuts[i + 1] - cuts[i], rights_of(cuts[i], cuts[i + 1]));
  }
}

// Lets go the holds for which `is_over`. The caller holds the mutex.
template <class Predicate>
void end_holds(const Predicate& is_over) {
  auto& holds = watched().holds;
  const auto first =
      std::stable_partition(holds.begin(), holds.end(), [&](const Hold& hold) { return !is_over(hold); });
  const std::vector<Hold> ended(std::make_move_iterator(first), std::make_move_iterator(holds.end()));
  holds.erase(first, holds.end());
  held.store(holds.size());
  for (const Hold& hold : ended) update_rights(hold.begin, hold.end);
}

// Whether nothing can conflict with what is held any more. The caller holds the mutex.
bool is_over(const Hold& hold) {
  const auto is_beside = [&](const HostCall* call) { return hold.is_beside(*call); };
  return hold.seen && std::none_of(watched().calls.begin(), watched().calls.end(), is_beside);
}

#if defined(__x86_64__)

// An access to a page that is held for other bytes, or for a task that waits for the access: its pages are opened for
// one instruction of this thread.
constexpr greg_t kTrapFlag = 0x100;
constexpr size_t kMostPages = 8;  // of one instruction
struct Step {
  std::array<uintptr_t, kMostPages> pages;
  size_t count = 0;
};
thread_local Step step;
struct sigaction previous_trap;

void on_trap(int number, siginfo_t* info, void* context) {
  if (step.count != 0) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
    const std::lock_guard<std::mutex> lock(watched().mutex);
    for (size_t i = 0; i < step.count; ++i) update_rights(step.pages[i], step.pages[i] + memory::page_bytes());
    step.count = 0;
    return;
  }
  if ((previous_trap.sa_flags & SA_SIGINFO) != 0) return previous_trap.sa_sigaction(number, info, context);
  if (previous_trap.sa_handler == SIG_IGN) return;
  if (previous_trap.sa_handler != SIG_DFL) return previous_trap.sa_handler(number);
  signal(number, SIG_DFL);
  raise(number);
}

// The program may have installed a handler of its own since the last time. The caller holds the mutex.
bool install_trap_handler() {
  struct sigaction present = {};
  if (sigaction(SIGTRAP, nullptr, &present) != 0) return false;
  if ((present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == on_trap) return true;
  struct sigaction action = {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  previous_trap = present;
  return sigaction(SIGTRAP, &action, nullptr) == 0;
}

bool open_for_one_instruction(uintptr_t page, void* context) {
  // A thread that blocks the signal is ended by it.
  const bool is_blocked = sigismember(&static_cast<ucontext_t*>(context)->uc_sigmask, SIGTRAP) == 1;
  if (is_blocked || step.count == kMostPages || !install_trap_handler()) return false;
  if (mprotect(reinterpret_cast<void*>(page), memory::page_bytes(), PROT_READ | PROT_WRITE) != 0) return false;
  step.pages[step.count++] = page;
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  return true;
}

#else

bool open_for_one_instruction(uintptr_t, void*) { return false; }

#endif

// The names of Python's lines need more than the stack that a program gives its signals by default.
bool has_room() {
  stack_t present = {};
  return sigaltstack(nullptr, &present) == 0 &&
         ((present.ss_flags & SS_ONSTACK) == 0 || present.ss_size >= kEnoughStack);
}

void make_room() {
  thread_local bool made = false;
  stack_t present = {};
  if (made || sigaltstack(nullptr, &present) != 0) return;
  if ((present.ss_flags & (SS_DISABLE | SS_ONSTACK)) != 0 || present.ss_size >= kEnoughStack) return;
  stack_t larger = {};
  larger.ss_size = kEnoughStack;
  larger.ss_sp = mmap(nullptr, kEnoughStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (larger.ss_sp == MAP_FAILED) return;
  made = sigaltstack(&larger, nullptr) == 0;  // it lives as long as the thread may get a signal
}

// A forked child launches nothing and waits for nothing, and may have other handlers: it gets all rights. The mutex is
// held over the fork, lest the child inherit it from a thread that it does not have.
void open_in_children() {
  static const int result = pthread_atfork([] { watched().mutex.lock(); }, [] { watched().mutex.unlock(); },
                                           [] {
                                             end_holds([](const Hold&) { return true; });
                                             watched().mutex.unlock();
                                           });
  (void)result;
}

AccessPtr access_of_host(const char* function, uintptr_t address, size_t bytes, opwright::Access kind) {
  const bool reads = kind == opwright::Access::kRead;
  auto launch =
      std::make_shared<const Launch>(Launch{-1, -1, 0, 0, function, has_room() ? python_lines() : std::string()});
  return std::make_shared<const Access>(
      Access{std::move(launch), "pinned memory", address, bytes, reads, !reads, 0, {}});
}

}  // namespace

void watch(uintptr_t begin, size_t bytes) {
  const std::lock_guard<std::mutex> lock(watched().mutex);
  watched().memory[begin] = begin + bytes;
}

void unwatch(uintptr_t begin) {
  const std::lock_guard<std::mutex> lock(watched().mutex);
  const auto it = watched().memory.find(begin);
  if (it == watched().memory.end()) return;
  end_holds([&](const Hold& hold) { return begin <= hold.begin && hold.begin < it->second; });
  watched().memory.erase(it);
}

void hold(const AccessPtr& access, const Clock& clock) {
  follow_system_calls();
  open_in_children();
  make_room();
  const std::lock_guard<std::mutex> lock(watched().mutex);
  if (!is_watched(access->begin) || watched().holds.size() == kMostHolds) return;
  install_fault_handler();
  const uintptr_t begin = page_of(access->begin);
  const uintptr_t end = memory::whole_pages(access->begin + access->bytes);
  watched().holds.push_back({access, begin, end, clock, /*seen=*/false});
  held.store(watched().holds.size());
  update_rights(begin, end);
}

HostCall::HostCall(Moment before, Position position) : before_(std::move(before)), position_(position) {
  const std::lock_guard<std::mutex> lock(watched().mutex);
  watched().calls.push_back(this);
}

HostCall::~HostCall() {
  const std::lock_guard<std::mutex> lock(watched().mutex);
  auto& calls = watched().calls;
  calls.erase(std::find(calls.begin(), calls.end(), this));
  if (std::any_of(watched().holds.begin(), watched().holds.end(), [](const Hold& hold) { return hold.seen; })) {
    end_holds(is_over);
  }
}

const HostCall* exchange_running_call(const HostCall* call) noexcept { return std::exchange(running_call, call); }

bool holds_any() noexcept { return held.load() != 0; }

void let_go(const Clock& seen) {
  const std::lock_guard<std::mutex> lock(watched().mutex);
  for (Hold& hold : watched().holds) hold.seen = hold.seen || is_before(*hold.access, seen);
  end_holds(is_over);
}

KernelAccess::KernelAccess(const char* function, opwright::Access kind, const void* begin, size_t bytes) noexcept {
  open(function, kind, begin, bytes);
}

KernelAccess::KernelAccess(const char* function, opwright::Access kind, const iovec* parts, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) open(function, kind, parts[i].iov_base, parts[i].iov_len);
}

KernelAccess::~KernelAccess() {
  if (open_.empty()) return;
  const std::lock_guard<std::mutex> lock(watched().mutex);
  for (const auto& [begin, end] : open_) {
    auto& open = watched().open;
    open.erase(std::find(open.begin(), open.end(), Pages{begin, end}));
    if (is_watched(begin)) update_rights(begin, end);  // else it was given back meanwhile
  }
}

void KernelAccess::open(const char* function, opwright::Access kind, const void* buffer, size_t bytes) noexcept {
  const auto first = reinterpret_cast<uintptr_t>(buffer);
  if (bytes == 0) return;
  std::vector<AccessPtr> conflicts;
  {
    const std::lock_guard<std::mutex> lock(watched().mutex);
    if (!is_watched(first)) return;
    const auto is_beside = [&](const Hold& hold) {
      return hold.overlaps(first, first + bytes) && hold.conflicts_with(kind);
    };
    for (const Hold& each : watched().holds) {
      if (is_beside(each)) conflicts.push_back(each.access);
    }
    if (!conflicts.empty()) end_holds(is_beside);
    const Pages pages = {page_of(first), memory::whole_pages(first + bytes)};
    watched().open.push_back(pages);
    open_.push_back(pages);
    update_rights(pages.first, pages.second);
  }
  if (conflicts.empty()) return;
  const AccessPtr access = access_of_host(function, first, bytes, kind);
  for (const AccessPtr& each : conflicts) report(*each, *access);
}

bool note_fault(const siginfo_t& info, void* context) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(info.si_addr);
  const opwright::Access kind = access_of(static_cast<const ucontext_t*>(context)->uc_mcontext);
  std::vector<AccessPtr> conflicts;
  {
    const std::lock_guard<std::mutex> lock(watched().mutex);
    if (!is_watched(address)) return false;
    const uintptr_t page = page_of(address);
    const auto is_on_page = [&](const Hold& hold) { return hold.begin <= page && page < hold.end; };
    // The host goes on with what it has waited for: to step through all that it does there takes too long.
    if (running_call == nullptr) end_holds([&](const Hold& hold) { return hold.seen && is_on_page(hold); });
    for (const Hold& hold : watched().holds) {
      if (hold.has(address) && hold.conflicts_with(kind)) conflicts.push_back(hold.access);
    }
    if (!conflicts.empty()) {
      end_holds([&](const Hold& hold) { return hold.has(address) && hold.conflicts_with(kind); });
    } else if (rights_of(page, page + memory::page_bytes()) != (PROT_READ | PROT_WRITE) &&
               !open_for_one_instruction(page, context)) {
      end_holds(is_on_page);
    }
  }
  if (conflicts.empty()) return true;
  const char* const instruction = kind == opwright::Access::kRead ? "a load" : "a store";
  const AccessPtr access = access_of_host(instruction, address, /*bytes=*/0, kind);
  for (const AccessPtr& each : conflicts) report(*each, *access);
  return true;
}

}  // namespace opwright::order
