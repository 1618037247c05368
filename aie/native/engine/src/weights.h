// weights.h: the constants that runs read. oneDNN chooses layouts by the number of threads too, and reorders weights
// that have another one in each call, which can take longer than what the call computes.
#pragma once

#include <sys/types.h>

#include <memory>

#include "program.h"

namespace AscendIE {

/// The constants of a program that threads run at once, with layouts for the number of threads that runs have.
class Weights {
 public:
  explicit Weights(std::shared_ptr<Program> program);

  /// Before a run. Runs that are under way keep what they have.
  void give(Tensors& values);
  /// The program as it is now.
  Program snapshot() const;

 private:
  bool begin_packing(int threads);
  void repack();

  // `run_mutex` guards them.
  std::shared_ptr<Program> program_;  // others read it, but for the tensors of `constants`
  int packed_for_;                    // threads
  int wanted_;                        // of the last run
  int runs_ = 0;                      // in succession that wanted as many
  int runs_needed_ = 1;               // runs in succession after which weights follow
  pid_t packer_ = 0;                  // the process in which a thread packs: a fork has no such thread
};

}  // namespace AscendIE
