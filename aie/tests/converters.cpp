// aie/tests/converters.cpp: converters that fail, one that replaces a built-in, and converters of subgraphs.
#include "core/conversion/converters/converters.h"

#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cstdlib>

#include "core/custom_pass/custom_pass.h"
#include "torch_aie.h"

namespace {

using namespace torch_aie::core::conversion;
using converters::args;
using torch::jit::Node;

const auto g_converters =
    converters::RegisterNodeConverters()
        .pattern("aten::erf(Tensor self) -> Tensor", [](ConversionCtx*, const Node*, args&) { return false; })
        .pattern("aten::sin(Tensor self) -> Tensor", [](ConversionCtx*, const Node*, args&) { return true; })
        .pattern("aten::exp(Tensor self) -> Tensor",
                 [](ConversionCtx* ctx, const Node* n, args& arguments) {
                   auto* const x = arguments[0].getFreezeAscendTensor(ctx);
                   auto* const layer = ctx->net->AddUnary(x, AscendIE::UnaryOperation::NEG);
                   ctx->AssociateValueAndVar(n->outputs()[0], Var(layer->GetOutput(0)));
                   return true;
                 })
        .pattern("aten::asin(Tensor self) -> Tensor",
                 [](ConversionCtx* ctx, const Node* n, args& arguments) {
                   auto* const x = arguments[0].getFreezeAscendTensor(ctx);
                   auto* const layer = ctx->net->AddUnary(x, AscendIE::UnaryOperation::NEG);
                   ctx->AssociateValueAndVar(n->outputs()[0], Var(layer->GetOutput(7)));
                   return true;
                 })
        .pattern("aten::sinh(Tensor self) -> Tensor",
                 [](ConversionCtx* ctx, const Node* n, args&) {
                   const Var null(static_cast<AscendIE::Tensor*>(nullptr));
                   ctx->AssociateValueAndVar(n->outputs()[0], Var(std::vector<Var>{null}));
                   return true;
                 })
        .pattern("aten::cosh(Tensor self) -> Tensor",
                 [](ConversionCtx* ctx, const Node*, args&) {
                   const Var null(static_cast<AscendIE::Tensor*>(nullptr));
                   ctx->net->AddUnary(null.getFreezeAscendTensor(ctx), AscendIE::UnaryOperation::NEG);
                   return true;
                 })
        .pattern("aten::asinh(Tensor self) -> Tensor",
                 [](ConversionCtx* ctx, const Node*, args& arguments) {
                   ctx->AssociateValueAndVar(nullptr, arguments[0]);
                   return true;
                 })
        .pattern("aten::atanh(Tensor self) -> Tensor",
                 [](ConversionCtx* ctx, const Node* n, args& arguments) {
                   ctx->AssociateValueAndVar(n->outputs()[0], arguments[0]);
                   ctx->AssociateValueAndVar(n->outputs()[0], arguments[0]);
                   return true;
                 })
        .pattern("aten::acosh(Tensor self) -> Tensor",
                 [](ConversionCtx* ctx, const Node* n, args& arguments) {
                   static torch::jit::Graph other;
                   ctx->AssociateValueAndVar(n->outputs()[0], arguments[0]);
                   ctx->AssociateValueAndVar(other.addInput(), arguments[0]);
                   return true;
                 })
        .pattern("aten::tanh(Tensor self) -> Tensor", [](ConversionCtx*, const Node*, args&) -> bool { throw 42; });

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
  all.pattern("aten::floor(Tensor self, int digits) -> Tensor", declines);
  all.pattern("no schema", declines);
  all.pattern("aten::cos(Tensor self -> Tensor", declines);
  all.pattern("aten::cos(Tensor any) -> Tensor", declines);
  return all;
}

const auto g_refused = refused();

at::Tensor same(const at::Tensor& x) { return x.clone(); }

const auto g_same = converters::RegisterNodeConverters()
                        .pattern("aie_tests::inferred(Tensor x) -> Tensor", declines)
                        .pattern("aten::floor_divide.absent(Tensor self, float other) -> Tensor", declines);

/// The output of a program in C++.
std::string what_of_block_size(int64_t size) {
  torch_aie::torchscript::CompileSpec spec;
  spec.min_block_size = static_cast<uint64_t>(size);
  try {
    torch_aie::torchscript::compile(torch::jit::Module("empty"), spec);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

TORCH_LIBRARY(aie_tests, library) {
  library.def("inferred", same);
  library.def("what_of_block_size(int size) -> str", what_of_block_size);
}

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

/// Not what the operators compute, to be distinct from them.
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
