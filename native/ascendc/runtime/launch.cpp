// native/ascendc/runtime/launch.cpp
#include "ascendc/runtime/launch.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "ascendc/interface.h"
#include "ascendc/runtime/checks.h"
#include "ascendc/runtime/checks/core_checks.h"
#include "ascendc/runtime/fault.h"
#include "ascendc/runtime/kinds.h"
#include "ascendc/runtime/local_memory.h"
#include "ascendc/runtime/report.h"
#include "ascendc/runtime/timeline.h"
#include "ascendc/runtime/workers.h"
#include "runtime/memory/extent.h"
#include "runtime/trace.h"

namespace AscendC::machine {

thread_local Core* current_core = nullptr;

namespace {

thread_local Launch* launch_of_thread = nullptr;
thread_local uint32_t index_of_thread = 0;

// Vector cores of an AI core by kind of kernel, and whether its cube core runs.
struct Shape {
  bool cube;
  uint32_t vectors;
  bool mixed;
};

Shape shape_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::kCube:
      return {true, 0, false};
    case KernelKind::kMix10:
      return {true, 0, true};
    case KernelKind::kMix01:
      return {false, 1, true};
    case KernelKind::kMix11:
      return {true, 1, true};
    case KernelKind::kMix12:
      return {true, 2, true};
    default:
      return {false, 1, false};
  }
}

// A local array of a kernel that is overrun reaches the gap before the frames of those who report it.
[[gnu::noinline]] void behind_a_gap(const std::function<void()>& body) {
  unsigned char gap[64 * 1024];
  asm volatile("" : : "r"(gap) : "memory");  // it is there
  body();
  asm volatile("" : : "r"(gap) : "memory");
}

uint64_t next_serial() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1) + 1;
}

}  // namespace

Launch& current_launch() { return *launch_of_thread; }
uint32_t current_index() { return index_of_thread; }

Program::Program(const opwright_ascendc_launch_t& launch, bool takes_host_memory)
    : name(launch.name != nullptr ? launch.name : "kernel"),
      host_memory(takes_host_memory),
      entry(launch.entry),
      blocks(launch.blocks),
      tiling_key(launch.tiling_key) {
  using opwright::require;
  const bool same =
      launch.size == sizeof launch && (launch.interface == 0 || launch.interface == OPWRIGHT_ASCENDC_INTERFACE);
  require(same, ACL_ERROR_INVALID_PARAM, name, ": the kernel's library was compiled with headers of another version; ",
          "compile it again");
  require(entry != nullptr, ACL_ERROR_INVALID_PARAM, name, ": there is no code to launch");
  require(blocks > 0 && blocks <= 65535, ACL_ERROR_INVALID_PARAM, name, ": ", blocks,
          " blocks; allowed are 1 to 65535");
  const void* const in_library = reinterpret_cast<const void*>(entry);
  kind = launch.kind >= 0 ? static_cast<KernelKind>(launch.kind) : kind_of_kernel(name, tiling_key, in_library);
  for (uint32_t i = 0; i < launch.count; ++i) {
    std::vector<uint64_t> value((launch.sizes[i] + 7) / 8);
    std::memcpy(value.data(), launch.arguments[i], launch.sizes[i]);
    if (launch.sizes[i] == sizeof(void*)) {
      const void* const address = reinterpret_cast<const void*>(value[0]);
      value[0] = reinterpret_cast<uint64_t>(opwright::memory::reachable(address));
    }
    values.push_back(std::move(value));
  }
  for (uint32_t i = 0; i < launch.range_count; ++i) {
    const auto* const begin = static_cast<const uint8_t*>(opwright::memory::reachable(launch.range_begins[i]));
    ranges.push_back({begin, launch.range_bytes[i]});
  }
}

Launch::Launch(const Program& program) : program_(program), serial_(next_serial()) {
  const Shape shape = shape_of(program.kind);
  for (uint32_t block = 0; block < program.blocks; ++block) {
    if (shape.cube) cores_.push_back({block, 0, CoreKind::kCube});
    for (uint32_t i = 0; i < shape.vectors; ++i) cores_.push_back({block, i, CoreKind::kVector});
  }
  if (checks_enabled()) checks_ = std::make_unique<Checks>(core_count());
}

Launch::~Launch() = default;

uint32_t Launch::cores_of(CoreKind kind) const {
  uint32_t count = 0;
  for (const Slot& slot : cores_) count += slot.kind == kind ? 1 : 0;
  return count;
}

void Launch::run() {
  install_kernel_faults();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t helpers = std::min<size_t>(processors(), cores_.size()) - 1;
    for (size_t i = 0; i < helpers && start_helper(); ++i) {
    }
    ++threads_;
  }
  work();
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return threads_ == 0; });
  std::string text = checks_ != nullptr ? checks_->findings() : std::string();
  if (failed_) text = fault_ + (text.empty() ? "" : "\n") + text;
  if (!text.empty()) throw opwright::Error(ACL_ERROR_RT_AICORE_EXCEPTION, text);
}

bool Launch::start_helper() {
  if (!run_on_worker([this] { work(); })) return false;
  ++threads_;  // work() begins with the mutex
  return true;
}

// All cores that were started wait for something that has not happened.
bool Launch::nobody_goes_on() const {
  return running_ == 0 &&
         std::none_of(waiting_for_.begin(), waiting_for_.end(), [](const auto* wait) { return (*wait)(); });
}

// Takes cores until none is left, or enough others run.
void Launch::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (next_ < cores_.size() && !failed_ && running_ < processors()) {
    const uint32_t index = next_++;
    ++running_;
    lock.unlock();
    try {
      run_core(cores_[index], index);
    } catch (const std::exception& error) {  // there is no memory for another core
      note_fault(opwright::text("OPW-X001 the core cannot do this\n  call:    start block ", cores_[index].block,
                                " of ", program_.blocks, "\n  got:     ", error.what(),
                                "\n  allowed: as many blocks that wait for each other as the process has memory for"));
    }
    lock.lock();
    --running_;
  }
  --threads_;
  // The last statement that touches the launch: its owner goes on when no thread is left.
  changed_.notify_all();
}

void Launch::run_core(const Slot& slot, uint32_t index) {
  const Shape shape = shape_of(program_.kind);
  const LentMemory memory;
  alignas(64) unsigned char registers[kRegisterBytes];
  Core core(*new (registers) Registers());  // the kernel sets its own layout
  core.block = slot.block;
  core.blocks = program_.blocks;
  core.sub_block = slot.sub_block;
  core.sub_blocks = std::max(1U, shape.vectors);
  core.kind = slot.kind;
  core.mixed = shape.mixed;
  core.tiling_key = program_.tiling_key;
  const opwright::memory::Windows windows = opwright::memory::windows();
  core.device_begin = windows.front;
  core.device_bytes = windows.bytes;
  core.device_distance = windows.distance;
  std::copy(memory->spans().begin(), memory->spans().end(), core.memory);

  Core* const outer_core = std::exchange(current_core, &core);
  Launch* const outer_launch = std::exchange(launch_of_thread, this);
  const uint32_t outer_index = std::exchange(index_of_thread, index);
  CoreChecks* const checks = checks_ != nullptr ? &checks_->start(index) : nullptr;
  CoreChecks* const outer_checks = exchange_current_checks(checks);
  Timeline timeline;
  const bool traced = opwright::trace::enabled();
  Timeline* const outer_timeline = exchange_current_timeline(traced ? &timeline : nullptr);
  core.checks = checks != nullptr || traced;
  const double begin = opwright::trace::now();
  enter([this] {
    std::vector<void*> arguments;
    std::vector<std::vector<uint64_t>> values = program_.values;  // a kernel may change its parameters
    for (auto& value : values) arguments.push_back(value.data());
    program_.entry(arguments.data());
    if (CoreChecks* const checks = current_checks()) checks->finish();
  });
  if (traced) timeline.write(begin, opwright::trace::now());
  if (checks != nullptr) checks->release_shadow();
  exchange_current_timeline(outer_timeline);
  exchange_current_checks(outer_checks);
  current_core = outer_core;
  launch_of_thread = outer_launch;
  index_of_thread = outer_index;
}

void Launch::enter(const std::function<void()>& body) {
  prepare_thread_for_faults();
  FaultFrame frame;
  const void* const outer_end = exchange_outermost_frame(__builtin_frame_address(0));
  FaultFrame* volatile outer_frame = nullptr;
  try {
    if (sigsetjmp(frame.jump, 1) == 0) {
      outer_frame = exchange_fault_frame(&frame);
      behind_a_gap(body);
    } else {
      note_fault(describe_signal(frame));
    }
  } catch (const KernelFault& fault) {
    note_fault(fault.text);
  } catch (const Aborted&) {  // another core's fault is noted already
  } catch (const std::exception& error) {
    note_fault(describe({"OPW-X003", "the kernel threw an exception", "", error.what(), "", Site(), ""}));
  } catch (...) {  // of a type that only the kernel knows
    note_fault(describe(
        {"OPW-X003", "the kernel threw an exception", "", "an exception that is no std::exception", "", Site(), ""}));
  }
  exchange_fault_frame(outer_frame);
  exchange_outermost_frame(outer_end);
}

void Launch::note_fault(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!failed_) fault_ = text;
  failed_ = true;
  changed_.notify_all();
}

void Launch::fail(const std::string& text) { throw KernelFault{text}; }

void Launch::change(const std::function<void()>& body) {
  const std::lock_guard<std::mutex> lock(mutex_);
  body();
  changed_.notify_all();
}

void Launch::wait_until(const char* what, const std::function<bool()>& done) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (failed_) throw Aborted();
  if (done()) return;
  --running_;
  ++waiting_;
  waiting_for_.push_back(&done);
  const char* stuck = nullptr;
  while (!failed_ && !done()) {
    if (next_ < cores_.size()) {
      if (threads_ - waiting_ < processors() && !start_helper() && threads_ == waiting_ && nobody_goes_on()) {
        stuck = "the system gives no thread for the cores that have not begun";
        break;
      }
    } else if (nobody_goes_on()) {
      stuck = "no core is left that could do what it waits for";
      break;
    }
    changed_.wait(lock);
  }
  waiting_for_.remove(&done);
  --waiting_;
  ++running_;
  if (failed_) throw Aborted();
  if (stuck == nullptr) return;
  lock.unlock();
  fail(describe({"OPW-X004", "every core of the kernel waits", what, stuck, "", here(__builtin_frame_address(0)), ""}));
}

}  // namespace AscendC::machine
