// tests/aie/patterns.cpp: converters of subgraphs.
#include <cstdlib>

#include "core/custom_pass/custom_pass.h"

namespace {

using namespace torch_aie::core::conversion;
using converters::args;
using torch::jit::Node;

// The constants are the caller's.
constexpr const char* kQuantize = R"IR(
graph(%x : Tensor, %scale : Tensor, %offset : Tensor, %alpha : int, %low : int, %high : int):
  %scaled : Tensor = aten::mul(%x, %scale)
  %shifted : Tensor = aten::add(%scaled, %offset, %alpha)
  %rounded : Tensor = aten::round(%shifted)
  %clamped : Tensor = aten::clamp(%rounded, %low, %high)
  return (%clamped))IR";

// The constant is the pattern's.
constexpr const char* kSum = R"IR(
graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %positive : Tensor = aten::relu(%x)
  %sum : Tensor = aten::add(%positive, %x, %one)
  return (%sum))IR";

bool quantize(ConversionCtx* ctx, const Node* n, args& arguments) {
  const double scale = arguments[1].unwrapToAtTensor().item<double>();
  auto* const layer = ctx->net->AddQuantize(arguments[0].getFreezeAscendTensor(ctx), scale);
  layer->SetOffset(arguments[2].unwrapToAtTensor().item<double>());
  return converters::finish(ctx, n, layer);
}

/// Not what the operators compute, to be told from them.
bool negate(ConversionCtx* ctx, const Node* n, args& arguments) {
  AscendIE::Tensor* const x = converters::addPadding(ctx, n, arguments[0].getFreezeAscendTensor(ctx), 4);
  auto* const layer = ctx->net->AddUnary(x, AscendIE::UnaryOperation::NEG);
  return converters::finish(ctx, n, converters::addUnpadding(ctx, n, layer->GetOutput(0), 1));
}

const auto g_patterns = torch_aie::core::custom_pass::RegisterSubgraphConverters()
                            .pattern(kQuantize, quantize)
                            .pattern(kSum, [](ConversionCtx*, const Node*, args&) { return false; })
                            .pattern(kSum, negate);

const bool g_broken = [] {
  if (std::getenv("BROKEN_PATTERN")) {
    torch_aie::core::custom_pass::RegisterSubgraphConverters().pattern("graph(%x): nonsense", negate);
  }
  return true;
}();

}  // namespace
