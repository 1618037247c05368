// lowering/lowering.h: a module's method as one graph without parameters, mutation and inner calls.
#pragma once

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <string>

#include "torch_aie.h"

namespace torch_aie::core::lowering {

struct Lowered {
  torch::jit::Module module;  // frozen; owns the graph
  std::shared_ptr<torch::jit::Graph> graph;
};

/// Operators that the options send to libtorch keep their names. Throws c10::Error for a module in training mode.
Lowered lower(const torch::jit::Module& module, const std::string& method, const torchscript::CompileOptions& options);

/// After engines are in: removes what nobody reads, and optimizes what is left to libtorch (optimization_level).
void finish(Lowered& lowered, const torchscript::CompileOptions& options);

}  // namespace torch_aie::core::lowering
