// converters/registry.h: what went wrong while libraries of converters were loaded.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "torch_aie.h"

namespace torch_aie::core::conversion::converters {

/// Throws c10::Error for registrations that were refused: once for each of them, later only if the graph has an
/// operator of that name which is not to stay on libtorch. An exception during the registration itself would end the
/// process, in dlopen; and the operator may be registered after its converter.
void expect_registered(const torch::jit::Graph& graph, const torchscript::CompileOptions& options);

}  // namespace torch_aie::core::conversion::converters
