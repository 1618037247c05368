// lowering/exceptions.h: branches that end in `raise` are not taken.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace torch_aie::core::lowering {

/// Decides every prim::If with one branch that raises for the other branch: engines do not raise what a script asserts.
/// PyTorch's own pass replaces all uses of the condition, and never ends where two of them share one.
void leave_out_exceptions(torch::jit::Graph& graph);

}  // namespace torch_aie::core::lowering
