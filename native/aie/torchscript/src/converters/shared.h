// converters/shared.h: what the built-in converters share beyond core/conversion/converters/converter_util.h.
#pragma once

#include "core/conversion/converters/converter_util.h"

namespace torch_aie::core::conversion::converters {

/// Argument `i` as a tensor of the network.
inline AscendIE::Tensor* tensor(ConversionCtx* ctx, args& arguments, size_t i = 0) {
  return arguments.at(i).getFreezeAscendTensor(ctx);
}

inline int64_t rank(const AscendIE::Tensor* x) { return x->GetDimensions().Size(); }

// Layers whose output is the node's; always true, to be returned.
bool permute(ConversionCtx* ctx, const torch::jit::Node* node, AscendIE::Tensor* x, const std::vector<int64_t>& order);
bool reshape(ConversionCtx* ctx, const torch::jit::Node* node, AscendIE::Tensor* x, const std::vector<int64_t>& shape);

}  // namespace torch_aie::core::conversion::converters
