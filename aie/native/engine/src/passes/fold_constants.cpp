// passes/fold_constants.cpp: what depends on constants only is computed when the model is built.
#include <ATen/core/LegacyTypeDispatch.h>

#include <map>

#include "passes/passes.h"

namespace AscendIE {

namespace {

// A result that is much larger than what it is made of (expand, arange) is cheaper to make again than to store.
constexpr size_t kGrowth = 4;
constexpr size_t kAlwaysStored = size_t{1} << 16;  // bytes

class ConstantFolder {
 public:
  explicit ConstantFolder(Program& program)
      : program_(program), known_(program.constants.begin(), program.constants.end()) {}

  /// True if the step is not needed any more.
  bool fold(const Step& step) {
    Tensors operands;
    size_t size = kAlwaysStored;
    for (const uint32_t value : step.inputs) {
      const auto found = known_.find(value);
      if (found == known_.end()) return false;
      operands.push_back(found->second);
      size += kGrowth * found->second.nbytes();
    }
    if (operands.empty()) return false;
    const Tensors results = step.operation->run(Call(operands, step.attributes, {}));
    for (const at::Tensor& result : results) {
      if (result.nbytes() > size) return false;
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      // A view would keep all of what it shows a part of.
      program_.constants.emplace_back(step.outputs[i], results.at(i).is_view() ? results[i].clone() : results[i]);
      known_.insert(program_.constants.back());
    }
    return true;
  }

 private:
  Program& program_;
  std::map<uint32_t, at::Tensor> known_;
};

}  // namespace

void fold_constants(Program& program) {
  const at::AutoDispatchBelowAutograd no_gradients;
  ConstantFolder folder(program);
  std::erase_if(program.steps, [&](const Step& step) { return folder.fold(step); });
}

}  // namespace AscendIE
