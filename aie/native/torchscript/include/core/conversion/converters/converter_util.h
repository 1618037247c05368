// core/conversion/converters/converter_util.h: what most converters do.
#pragma once

#include "core/conversion/converters/converters.h"

namespace torch_aie::core::conversion::converters {

/// Names the layer after the node and makes its output the node's; always true, to be returned.
ASCENDIE_API bool finish(ConversionCtx* ctx, const torch::jit::Node* node, AscendIE::BaseLayer* layer);
/// The same for a node whose output is a tensor that exists.
ASCENDIE_API bool finish(ConversionCtx* ctx, const torch::jit::Node* node, AscendIE::Tensor* tensor);

/// Both operands of a binary operation, a constant one in the type that PyTorch's promotion gives it.
ASCENDIE_API std::pair<AscendIE::Tensor*, AscendIE::Tensor*> operands(ConversionCtx* ctx, const Var& a, const Var& b);

/// The tensor with dimensions of size 1 behind its own (or before them), until it has `nDim` of them.
ASCENDIE_API AscendIE::Tensor* addPadding(ConversionCtx* ctx, const torch::jit::Node* n, AscendIE::Tensor* tensor,
                                          int nDim, bool trailing = true);
/// The tensor without its last dimensions (or its first ones), which have to be of size 1, until it has `nDim` of them.
ASCENDIE_API AscendIE::Tensor* addUnpadding(ConversionCtx* ctx, const torch::jit::Node* n, AscendIE::Tensor* tensor,
                                            int nDim, bool trailing = true);

/// A dimension counted from the front. Throws c10::Error for one that the rank does not have.
ASCENDIE_API int64_t wrapDim(int64_t dim, int64_t rank);

}  // namespace torch_aie::core::conversion::converters
