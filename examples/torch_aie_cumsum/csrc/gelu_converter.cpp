// csrc/gelu_converter.cpp: takes the place of the built-in converter of aten::gelu with a cheaper function,
// x * sigmoid(1.702 * x), which is never further from it than 0.021.
#include "core/conversion/converters/converters.h"

namespace {

using torch_aie::core::conversion::ConversionCtx;
using torch_aie::core::conversion::Var;
using torch_aie::core::conversion::converters::args;
using torch_aie::core::conversion::converters::RegisterNodeConverters;

bool convert(ConversionCtx* ctx, const torch::jit::Node* node, args& args) {
  AscendIE::Tensor* input = args[0].getFreezeAscendTensor(ctx);
  AscendIE::Tensor* factor = Var(c10::IValue(1.702)).getFreezeAscendTensor(ctx);
  auto* scaled = ctx->net->AddElementWise(input, factor, AscendIE::ElementWiseOperation::MUL);
  auto* gate = ctx->net->AddActivation(scaled->GetOutput(0), AscendIE::ActivationKind::SIGMOID);
  auto* product = ctx->net->AddElementWise(input, gate->GetOutput(0), AscendIE::ElementWiseOperation::MUL);
  ctx->AssociateValueAndVar(node->outputs()[0], Var(product->GetOutput(0)));
  return true;
}

const auto registration =
    RegisterNodeConverters().pattern("aten::gelu(Tensor self, *, str approximate='none') -> Tensor", convert);

}  // namespace
