// lowering.h: a module's method as one graph without parameters, mutation and inner calls.
#pragma once

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <string>

namespace torch_aie::core::lowering {

struct Lowered {
  torch::jit::Module module;  // frozen; owns the graph
  std::shared_ptr<torch::jit::Graph> graph;
};

/// Throws c10::Error for a module in training mode.
Lowered lower(const torch::jit::Module& module, const std::string& method);

}  // namespace torch_aie::core::lowering
