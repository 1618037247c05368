// native/ascendc/runtime/launch.h
// One execution of a kernel: its cores run on worker threads, as many at a time as there are processors. A core that
// waits for others lets the next one start, so that any number of blocks can wait for each other.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ascendc/runtime/ascendc_launch.h"
#include "core/machine.h"

namespace AscendC::machine {

class Checks;

// The launched program; lives as long as the task.
struct Program {
  Program(const opwright_ascendc_launch_t& launch, bool takes_host_memory);

  std::string name;
  bool host_memory;  // may be given: a launch without a stream
  void (*entry)(void* const*);
  uint32_t blocks;
  KernelKind kind;
  uint64_t tiling_key;
  std::vector<std::vector<uint64_t>> values;  // of the arguments
  struct Range {
    const uint8_t* begin;
    uint64_t bytes;
  };
  std::vector<Range> ranges;
};

// Ends a core without a fault of its own: another one has failed.
struct Aborted {};
// A fault of the kernel, described already.
struct KernelFault {
  std::string text;
};

class Launch {
 public:
  explicit Launch(const Program& program);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  // Runs all cores. Throws opwright::Error with what went wrong.
  void run();

  const Program& program() const { return program_; }
  // Of this execution; never that of another one, as addresses may be.
  uint64_t serial() const { return serial_; }
  uint32_t core_count() const { return static_cast<uint32_t>(cores_.size()); }
  Checks* checks() const { return checks_.get(); }

  // Waits until `done` holds, which is called with the launch's mutex held and must become true through `change`.
  // `what` says what is waited for. Throws Aborted if another core fails, and is a fault if all cores wait.
  void wait_until(const char* what, const std::function<bool()>& done);
  // Changes what cores may wait for.
  void change(const std::function<void()>& body);

  // A fault that ends the launch. Throws.
  [[noreturn]] void fail(const std::string& text);

  // Of the state below, guarded by the launch's mutex: use it within wait_until and change.
  struct Meeting {  // SyncAll
    uint32_t arrived = 0;
    uint64_t round = 0;
  };
  Meeting meetings[2];
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> counters;  // by key
  std::map<uint64_t, std::unique_ptr<uint64_t[]>> shared;
  uint32_t cores_of(CoreKind kind) const;

 private:
  struct Slot {
    uint32_t block;
    uint32_t sub_block;
    CoreKind kind;
  };

  void work();
  void run_core(const Slot& slot, uint32_t index);
  void enter(const std::function<void()>& body);
  bool start_helper();  // with the mutex held; false if the system gives no thread
  bool nobody_goes_on() const;
  void note_fault(const std::string& text);

  const Program& program_;
  const uint64_t serial_;
  std::vector<Slot> cores_;
  std::unique_ptr<Checks> checks_;

  std::mutex mutex_;
  std::condition_variable changed_;
  uint32_t next_ = 0;     // the core that starts next
  uint32_t running_ = 0;  // cores that do not wait
  uint32_t waiting_ = 0;
  uint32_t threads_ = 0;  // in work()
  bool failed_ = false;
  std::string fault_;
  std::list<const std::function<bool()>*> waiting_for_;
};

// The launch that the calling thread runs a core of.
Launch& current_launch();
// Index of the calling thread's core in its launch.
uint32_t current_index();

}  // namespace AscendC::machine
