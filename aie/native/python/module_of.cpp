// module_of.cpp: a graph of Python's making -> a module.
#include "module_of.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/constant_pooling.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

namespace {

using torch::jit::Graph;
using torch::jit::Value;

/// A module whose method `forward` is the graph; `weights` take the place of its first inputs.
torch::jit::Module module_of(const std::shared_ptr<Graph>& given, const std::vector<at::Tensor>& weights) {
  torch::jit::Module module("__torch__.torch_aie_exported");
  const std::shared_ptr<Graph> graph = given->copy();
  TORCH_CHECK_VALUE(weights.size() <= graph->inputs().size(), "got ", weights.size(), " weights, allowed are at most ",
                    graph->inputs().size(), ": one for each input of the graph");
  Value* const self = graph->insertInput(0, "self")->setType(module._ivalue()->type());
  const torch::jit::WithInsertPoint first(*graph->nodes().begin());
  for (size_t i = 0; i < weights.size(); ++i) {
    const std::string name = "weight_" + std::to_string(i);
    module.register_attribute(name, c10::TensorType::get(), weights[i]);
    graph->inputs()[1]->replaceAllUsesWith(graph->insertGetAttr(self, name));
    graph->eraseInput(1);
  }
  torch::jit::EliminateDeadCode(graph);
  torch::jit::ConstantPooling(graph);
  torch::jit::Function* const method = module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*module.type()->name(), "forward"), graph);
  module.type()->addMethod(method);
  return module;
}

}  // namespace

void bind_module_of(pybind11::module_& module) { module.def("module_of", module_of); }
