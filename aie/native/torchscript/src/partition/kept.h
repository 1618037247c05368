// partition/kept.h: operators and modules that the caller keeps on libtorch.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "torch_aie.h"

namespace torch_aie::core::partition {

/// Whether `torch_executed_ops` has the node: by its name, with or without the overload, or by its name in place.
bool is_kept(const torch::jit::Node* node, const torchscript::CompileOptions& options);
/// Whether the node comes from a module of `torch_executed_modules`.
bool is_in_kept_module(const torch::jit::Node* node, const torchscript::CompileOptions& options);

/// A line in the log for each name that nothing in the graph has, with the names that there are.
void warn_of_unknown_names(const torch::jit::Graph& graph, const torchscript::CompileOptions& options);

}  // namespace torch_aie::core::partition
