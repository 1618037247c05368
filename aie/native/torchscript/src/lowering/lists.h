// lowering/lists.h: lists that grow, before PyTorch's pass makes one construction of each.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace torch_aie::core::lowering {

/// Writes aten::extend by a list that nothing else uses as aten::append of each of its elements, which PyTorch's
/// RemoveListMutation removes; it leaves aten::extend where it is.
void append_extensions(torch::jit::Block* block);

}  // namespace torch_aie::core::lowering
