// converters/products.cpp: products of matrices.
#include <c10/util/Exception.h>

#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using AscendIE::MatrixOperation;
using torch::jit::Node;

bool matmul(ConversionCtx* ctx, const Node* node, args& arguments) {
  return finish(ctx, node,
                ctx->net->AddMatrixMultiply(tensor(ctx, arguments, 0), MatrixOperation::NONE, tensor(ctx, arguments, 1),
                                            MatrixOperation::NONE));
}

bool linear(ConversionCtx* ctx, const Node* node, args& arguments) {
  auto* const product = ctx->net->AddMatrixMultiply(tensor(ctx, arguments, 0), MatrixOperation::NONE,
                                                    tensor(ctx, arguments, 1), MatrixOperation::TRANSPOSE);
  if (arguments[2].isNone()) return finish(ctx, node, product);
  return finish(
      ctx, node,
      ctx->net->AddElementWise(product->GetOutput(0), tensor(ctx, arguments, 2), AscendIE::ElementWiseOperation::ADD));
}

const auto g_products = RegisterNodeConverters()
                            .pattern("aten::matmul(Tensor self, Tensor other) -> Tensor", matmul)
                            .pattern("aten::mm(Tensor self, Tensor mat2) -> Tensor", matmul)
                            .pattern("aten::bmm(Tensor self, Tensor mat2) -> Tensor", matmul)
                            .pattern("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", linear);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
