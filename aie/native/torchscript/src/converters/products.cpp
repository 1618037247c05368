// converters/products.cpp: products of matrices, sums of products by Einstein's notation, rows of tables.
#include <c10/util/Exception.h>

#include "converters/by_schema.h"
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

AscendIE::Tensor* scaled(ConversionCtx* ctx, AscendIE::Tensor* x, const Var& factor) {
  if (factor.unwrapToDouble() == 1) return x;
  const auto [a, b] = operands(ctx, Var(x), factor);
  return ctx->net->AddElementWise(a, b, AscendIE::ElementWiseOperation::MUL)->GetOutput(0);
}

/// beta * self + alpha * (a @ b)
bool added_product(ConversionCtx* ctx, const Node* node, args& arguments) {
  auto* const layer = ctx->net->AddMatrixMultiply(tensor(ctx, arguments, 1), MatrixOperation::NONE,
                                                  tensor(ctx, arguments, 2), MatrixOperation::NONE);
  AscendIE::Tensor* const product = scaled(ctx, layer->GetOutput(0), arguments[4]);
  // Values that are not finite count for nothing then.
  if (arguments[3].unwrapToDouble() == 0) return finish(ctx, node, product);
  AscendIE::Tensor* const added = scaled(ctx, tensor(ctx, arguments, 0), arguments[3]);
  return finish(ctx, node, ctx->net->AddElementWise(product, added, AscendIE::ElementWiseOperation::ADD));
}

/// Rows of the table; `padding_idx` and what follows matter to training only.
bool embedding(ConversionCtx* ctx, const Node* node, args& arguments) {
  return finish(ctx, node, ctx->net->AddGather(tensor(ctx, arguments, 0), tensor(ctx, arguments, 1), 0));
}

const auto g_products =
    RegisterNodeConverters()
        .pattern("aten::matmul(Tensor self, Tensor other) -> Tensor", matmul)
        .pattern("aten::mm(Tensor self, Tensor mat2) -> Tensor", matmul)
        .pattern("aten::bmm(Tensor self, Tensor mat2) -> Tensor", matmul)
        .pattern("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", linear)
        .pattern("aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                 added_product)
        .pattern("aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                 added_product)
        .pattern(
            "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, "
            "bool sparse=False) -> Tensor",
            embedding);

constexpr SchemaRow kProductsSchemas[] = {
    {"aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", "Einsum"},
};

const auto g_products_by_schema = by_schema(kProductsSchemas);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
