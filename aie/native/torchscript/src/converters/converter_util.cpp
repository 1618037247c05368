// converters/converter_util.cpp
#include "core/conversion/converters/converter_util.h"

#include <c10/core/ScalarType.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/util/Exception.h>

namespace torch_aie::core::conversion::converters {

namespace {

/// Tracing makes tensors of Python's numbers, which stay numbers in what type a result has.
bool is_number(const c10::IValue& value) {
  return !value.isTensor() || value.toTensor().unsafeGetTensorImpl()->is_wrapped_number();
}

/// A Python number takes the tensor's type, unless it is of a higher kind (int with 0.5: float).
AscendIE::Tensor* number_like(ConversionCtx* ctx, const Var& number, const AscendIE::Tensor& other) {
  if (!is_number(number.getIValue()) || other.GetType() == AscendIE::DataType::UNKNOWN) {
    return number.getFreezeAscendTensor(ctx);
  }
  const c10::ScalarType type = util::toScalarType(other.GetType());
  const at::Tensor scalar = number.unwrapToAtTensor();
  const bool higher = (scalar.is_floating_point() && !c10::isFloatingType(type)) || type == at::kBool;
  const c10::ScalarType own = scalar.is_floating_point() ? at::kFloat : scalar.scalar_type();
  return Var(c10::IValue(scalar.to(higher ? own : type))).getFreezeAscendTensor(ctx);
}

}  // namespace

bool finish(ConversionCtx* ctx, const torch::jit::Node* node, AscendIE::BaseLayer* layer) {
  layer->SetName(util::nodeInfo(node).c_str());
  return finish(ctx, node, layer->GetOutput(0));
}

bool finish(ConversionCtx* ctx, const torch::jit::Node* node, AscendIE::Tensor* tensor) {
  ctx->AssociateValueAndVar(node->outputs()[0], Var(tensor));
  return true;
}

std::pair<AscendIE::Tensor*, AscendIE::Tensor*> operands(ConversionCtx* ctx, const Var& a, const Var& b) {
  if (a.isAscendTensor() && !b.isAscendTensor())
    return {a.getAscendTensor(), number_like(ctx, b, *a.getAscendTensor())};
  if (b.isAscendTensor() && !a.isAscendTensor())
    return {number_like(ctx, a, *b.getAscendTensor()), b.getAscendTensor()};
  return {a.getFreezeAscendTensor(ctx), b.getFreezeAscendTensor(ctx)};
}

AscendIE::Tensor* addPadding(ConversionCtx* ctx, const torch::jit::Node* n, AscendIE::Tensor* tensor, int nDim,
                             bool trailing) {
  for (int64_t rank = tensor->GetDimensions().Size(); rank < nDim; ++rank) {
    AscendIE::BaseLayer* const layer =
        ctx->net->AddOperation("Unsqueeze", {tensor}, {{"dim", trailing ? rank : int64_t{0}}});
    layer->SetName((util::nodeInfo(n) + " padding").c_str());
    tensor = layer->GetOutput(0);
  }
  return tensor;
}

AscendIE::Tensor* addUnpadding(ConversionCtx* ctx, const torch::jit::Node* n, AscendIE::Tensor* tensor, int nDim,
                               bool trailing) {
  for (int64_t rank = tensor->GetDimensions().Size(); rank > nDim; --rank) {
    const int64_t dim = trailing ? rank - 1 : 0;
    const int64_t size = tensor->GetDimensions()[static_cast<int32_t>(dim)];
    TORCH_CHECK_VALUE(size == 1, "addUnpadding: dimension ", dim, " has size ", size, ", allowed is 1");
    AscendIE::BaseLayer* const layer =
        ctx->net->AddOperation("SelectIndex", {tensor}, {{"dim", dim}, {"index", int64_t{0}}});
    layer->SetName((util::nodeInfo(n) + " unpadding").c_str());
    tensor = layer->GetOutput(0);
  }
  return tensor;
}

int64_t wrapDim(int64_t dim, int64_t rank) { return c10::maybe_wrap_dim(dim, rank); }

}  // namespace torch_aie::core::conversion::converters
