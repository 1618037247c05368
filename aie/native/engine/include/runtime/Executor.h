// runtime/Executor.h: runs a serialized model on ATen tensors. Not part of the vendor's API.
#ifndef ASCENDIE_RUNTIME_EXECUTOR_H
#define ASCENDIE_RUNTIME_EXECUTOR_H

#include <ATen/core/TensorBody.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/Common.h"

namespace AscendIE {

struct Program;

/// Immutable once made: any number of threads may run it.
class ASCENDIE_API Executor {
 public:
  /// Throws c10::Error that says what is wrong with the model.
  explicit Executor(std::string_view model);
  ~Executor();

  /// The model, to be saved; its bytes are not kept, and weights only in the layouts of this machine's kernels.
  std::string Model() const;

  /// Lives as long as the executor.
  const Program& GetProgram() const { return *program_; }

  /// Inputs must have the declared count, shapes and types; throws c10::Error otherwise. Those that are moved in are
  /// freed after their last use.
  std::vector<at::Tensor> Run(std::vector<at::Tensor> inputs) const;

  /// Why its memory was not planned when it was loaded; empty if it was, or if shapes are not fixed.
  const std::string& Remark() const { return remark_; }

 private:
  void Rehearse();
  std::vector<at::Tensor> Compute(std::vector<at::Tensor> inputs) const;

  std::string remark_;
  std::shared_ptr<const Program> program_;
  struct Shared;  // by the runs
  std::shared_ptr<Shared> shared_;
};

}  // namespace AscendIE
#endif
