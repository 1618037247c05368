// specialize.h: sizes and what is computed from them become constants.
#pragma once

#include <memory>

#include "observation.h"

namespace torch_aie::core::lowering {

/// True if loops were unrolled: the graph has new nodes then and must be observed again.
bool specialize(const std::shared_ptr<torch::jit::Graph>& graph, const partition::Observations& observations);

}  // namespace torch_aie::core::lowering
