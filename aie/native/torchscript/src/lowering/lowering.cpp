// lowering/lowering.cpp: freezing, then passes in the order in which each helps the next.
#include "lowering/lowering.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/passes/common_subexpression_elimination.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/passes/frozen_graph_optimizations.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/lower_tuples.h>
#include <torch/csrc/jit/passes/peephole.h>
#include <torch/csrc/jit/passes/remove_mutation.h>

#include "custom_pass.h"
#include "log/log.h"
#include "lowering/exceptions.h"
#include "lowering/lists.h"
#include "lowering/modules.h"
#include "lowering/normalization.h"

namespace torch_aie::core::lowering {

namespace {

using torch::jit::Graph;

void check(const torch::jit::Module& module, const std::string& method) {
  std::string methods;
  for (const torch::jit::Method& one : module.get_methods()) methods += (methods.empty() ? "" : ", ") + one.name();
  TORCH_CHECK_VALUE(module.find_method(method), "the module has no method '", method, "', it has: ", methods);
  TORCH_CHECK_VALUE(!module.hasattr("training") || !module.is_training(),
                    "the module is in training mode: call eval() before it is compiled");
}

void simplify(std::shared_ptr<Graph>& graph) {
  torch::jit::ConstantPropagation(graph);
  torch::jit::PeepholeOptimize(graph);
  torch::jit::LowerSimpleTuples(graph);
  torch::jit::EliminateCommonSubexpression(graph);
  torch::jit::EliminateDeadCode(graph);
}

}  // namespace

Lowered lower(const torch::jit::Module& module, const std::string& method, const torchscript::CompileOptions& options) {
  check(module, method);
  torch::jit::Module frozen = torch::jit::freeze_module(
      module, method == "forward" ? std::vector<std::string>{} : std::vector<std::string>{method});
  auto graph = frozen.get_method(method).graph();
  torch::jit::Inline(*graph);
  append_extensions(graph->block());
  torch::jit::RemoveListMutation(graph);
  leave_out_exceptions(*graph);
  simplify(graph);
  normalize(graph, options.torch_executed_ops);
  torch::jit::RemoveTensorMutation(graph);
  remove_no_ops(graph, options.torch_executed_ops);
  simplify(graph);
  custom_pass::merge(graph, options.torch_executed_ops);
  log(Level::kDebug, "lowered graph:\n", *graph);
  return {std::move(frozen), std::move(graph)};
}

void finish(Lowered& lowered, const torchscript::CompileOptions& options) {
  custom_pass::expand(*lowered.graph);
  torch::jit::EliminateDeadCode(lowered.graph);
  // Engines are optimized in any case: the levels are about the graph around them. Level 1 merges operators without
  // other rounding, level 2 also computes weights anew (of a convolution and the normalization behind it).
  if (options.optimization_level >= 1) {
    torch::jit::OptimizeFrozenGraph(lowered.graph, /*optimize_numerics=*/options.optimization_level >= 2);
  }
  lowered.graph->lint();
}

}  // namespace torch_aie::core::lowering
