// lowering/specialize.h: sizes and what is computed from them become constants.
#pragma once

#include <memory>

#include "partition/observation.h"

namespace torch_aie::core::lowering {

/// True if loops were unrolled or branches are gone: the graph has new nodes then, or values that were seen in a branch
/// which is never taken, and must be observed again.
bool specialize(const std::shared_ptr<torch::jit::Graph>& graph, const partition::Observations& observations);

}  // namespace torch_aie::core::lowering
