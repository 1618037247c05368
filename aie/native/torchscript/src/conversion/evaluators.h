// conversion/evaluators.h: nodes whose values are known when the network is built: constants, lists, sizes, arithmetic
// on them.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <vector>

#include "core/conversion/conversionctx/ConversionCtx.h"

namespace torch_aie::core::conversion {

/// Whether an engine can take the node in; a node with a tensor among its outputs only if it is a constant or a list.
bool is_evaluable(const torch::jit::Node* node);
/// Associates the node's outputs; throws c10::Error that names the node, or Declined where a value is known only when
/// the model runs.
void evaluate(ConversionCtx* ctx, const torch::jit::Node* node, const std::vector<Var>& args);

}  // namespace torch_aie::core::conversion
