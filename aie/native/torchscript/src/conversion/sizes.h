// conversion/sizes.h: integers that are known only when the model runs are tensors of the network without dimensions.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <optional>
#include <vector>

#include "core/conversion/conversionctx/ConversionCtx.h"

namespace torch_aie::core::conversion {

/// The outputs of a node that asks for sizes which are not fixed, or computes with such; none for any other node.
std::optional<std::vector<Var>> evaluate_sizes(ConversionCtx* ctx, const torch::jit::Node* node,
                                               const std::vector<Var>& args);

}  // namespace torch_aie::core::conversion
