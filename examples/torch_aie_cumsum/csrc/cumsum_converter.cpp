// csrc/cumsum_converter.cpp: aten::cumsum as a layer of the engine. It replaces the built-in converter.
#include <iostream>

#include "core/conversion/converters/converters.h"
#include "core/util/jit_util.h"

namespace {

using torch_aie::core::conversion::ConversionCtx;
using torch_aie::core::conversion::Var;
using torch_aie::core::conversion::converters::args;
using torch_aie::core::conversion::converters::RegisterNodeConverters;

bool convert(ConversionCtx* ctx, const torch::jit::Node* node, args& args) {
  AscendIE::Tensor* input = args[0].getFreezeAscendTensor(ctx);
  const int64_t rank = input->GetDimensions().Size();
  int64_t dim = args[1].unwrapToInt();
  // An exception thrown here ends `compile`, which adds the node and its source line.
  TORCH_CHECK_INDEX(-rank <= dim && dim < rank, "got dim ", dim, ", allowed are ", -rank, " to ", rank - 1);
  TORCH_CHECK_VALUE(args[2].isNone(), "got a dtype, allowed is None: convert the result instead");
  if (dim < 0) {
    dim += rank;
  }
  auto* layer = ctx->net->AddCumsum(input, dim);
  layer->SetName(torch_aie::core::util::nodeInfo(node).c_str());
  ctx->AssociateValueAndVar(node->outputs()[0], Var(layer->GetOutput(0)));
  std::cout << "converter of this example: cumsum over dimension " << dim << std::endl;
  return true;
}

// The registration is this object's life; loading the library makes it.
const auto registration = RegisterNodeConverters().pattern(
    "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", convert);

}  // namespace
