// tests/aie/converters.cpp: converters that fail, and one that replaces a built-in.
#include "core/conversion/converters/converters.h"

#include <c10/util/Exception.h>

#include <cstdlib>

namespace {

using namespace torch_aie::core::conversion;
using converters::args;
using torch::jit::Node;

const auto g_converters =
    converters::RegisterNodeConverters()
        .pattern("aten::erf(Tensor self) -> Tensor", [](ConversionCtx*, const Node*, args&) { return false; })
        .pattern("aten::sin(Tensor self) -> Tensor", [](ConversionCtx*, const Node*, args&) { return true; })
        .pattern("aten::exp(Tensor self) -> Tensor", [](ConversionCtx* ctx, const Node* n, args& arguments) {
          auto* const x = arguments[0].getFreezeAscendTensor(ctx);
          auto* const layer = ctx->net->AddUnary(x, AscendIE::UnaryOperation::NEG);
          ctx->AssociateValueAndVar(n->outputs()[0], Var(layer->GetOutput(0)));
          return true;
        });

bool declines(ConversionCtx*, const Node*, args&) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "not with these arguments");
  return true;
}

converters::RegisterNodeConverters refused() {
  converters::RegisterNodeConverters all;
  if (!std::getenv("REFUSED_CONVERTERS")) return all;
  all.pattern("aten::tan(Tensor self -> Tensor", declines);
  all.pattern("aten::atan(Tensor self) -> Tensor", nullptr);
  all.pattern("aten::ceil(Tensor self) -> Tensor", declines);
  return all;
}

const auto g_refused = refused();

}  // namespace
