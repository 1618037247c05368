// arena.h: memory for the tensors of a run. ATen's kernels allocate their results; a run takes the place of the CPU's
// allocator on its thread, so that results come from one block that later runs use again. The first run records what is
// allocated and freed, and the plan is made of that (memory_plan.h).
#pragma once

#include <memory>
#include <vector>

#include "memory_plan.h"

namespace AscendIE {

class Block;
class Recorder;

/// The memory of an executor: a plan, and one block for each thread that runs at the same time.
class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// From here to its end, this thread's allocations are recorded, or come from a block. What differs from the plan, or
  /// would overlap with something that is still in use, comes from the CPU's allocator: a plan is never needed for a
  /// correct run.
  class Run {
   public:
    explicit Run(Arena& arena);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    /// Before the results are made: they outlive the run.
    void pause();

   private:
    friend class Arena;
    Arena& arena_;
    std::shared_ptr<Block> block_;
    std::shared_ptr<Recorder> recorder_;
  };

 private:
  /// Gives the run a block that is idle, or a recorder if there is no plan.
  void enter(Run& run);
  /// Makes the plan, unless another thread has.
  void learn(const Recorder& recorder);

  // `run_mutex` guards them.
  std::shared_ptr<const MemoryPlan> plan_;  // null until a run was recorded
  std::vector<std::shared_ptr<Block>> idle_;
};

}  // namespace AscendIE
