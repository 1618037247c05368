// lowering.cpp: freezing, then passes in the order in which each helps the next.
#include "lowering.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/passes/common_subexpression_elimination.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/lower_tuples.h>
#include <torch/csrc/jit/passes/remove_exceptions.h>
#include <torch/csrc/jit/passes/remove_mutation.h>

namespace torch_aie::core::lowering {

Lowered lower(const torch::jit::Module& module, const std::string& method) {
  TORCH_CHECK_VALUE(module.find_method(method), "the module has no method '", method, "'");
  TORCH_CHECK_VALUE(!module.hasattr("training") || !module.is_training(),
                    "the module is in training mode: call eval() before it is compiled");
  torch::jit::Module frozen = torch::jit::freeze_module(
      module, method == "forward" ? std::vector<std::string>{} : std::vector<std::string>{method});
  auto graph = frozen.get_method(method).graph();
  torch::jit::Inline(*graph);
  torch::jit::RemoveListMutation(graph);
  torch::jit::RemoveTensorMutation(graph);
  torch::jit::EliminateExceptions(graph);
  torch::jit::ConstantPropagation(graph);
  torch::jit::LowerSimpleTuples(graph);
  torch::jit::EliminateCommonSubexpression(graph);
  torch::jit::EliminateDeadCode(graph);
  return {std::move(frozen), std::move(graph)};
}

}  // namespace torch_aie::core::lowering
