// converters/shared.h: what the built-in converters share beyond core/conversion/converters/converter_util.h.
#pragma once

#include "core/conversion/converters/converter_util.h"

namespace torch_aie::core::conversion::converters {

/// Argument `i` as a tensor of the network.
inline AscendIE::Tensor* tensor(ConversionCtx* ctx, args& arguments, size_t i = 0) {
  return arguments.at(i).getFreezeAscendTensor(ctx);
}

inline int64_t rank(const AscendIE::Tensor* x) { return x->GetDimensions().Size(); }

/// An integer for each of `rank` dimensions; a list of one stands for all of them.
std::vector<int64_t> for_each_dimension(const Var& list, size_t rank);

/// The schema with the rank, one digit, for each `#`.
std::string with_rank(std::string schema, size_t rank);

/// `finish` for a node with several outputs, which are the layer's in their order.
bool finish_all(ConversionCtx* ctx, const torch::jit::Node* node, AscendIE::BaseLayer* layer);

}  // namespace torch_aie::core::conversion::converters
