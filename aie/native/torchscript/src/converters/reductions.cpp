// converters/reductions.cpp: reductions, searches, sorts, softmax and sums along a dimension.
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include "converters/by_schema.h"
#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using torch::jit::Node;

AscendIE::Tensor* cast(ConversionCtx* ctx, AscendIE::Tensor* x, c10::ScalarType type) {
  const AscendIE::DataType wanted = util::toDataType(type);
  return x->GetType() == wanted ? x : ctx->net->AddCast(x, wanted)->GetOutput(0);
}

/// The input in the type that argument `i` asks for.
AscendIE::Tensor* typed(ConversionCtx* ctx, args& arguments, size_t i) {
  AscendIE::Tensor* const x = tensor(ctx, arguments);
  return arguments.at(i).isNone() ? x : cast(ctx, x, arguments[i].unwrapToScalarType());
}

/// PyTorch adds integers up in INT64 unless a dtype is given; the layer keeps the input's type.
bool cumsum(ConversionCtx* ctx, const Node* node, args& arguments) {
  AscendIE::Tensor* x = typed(ctx, arguments, 2);
  const int64_t dim = wrapDim(arguments[1].unwrapToInt(), rank(x));
  const bool known = x->GetType() != AscendIE::DataType::UNKNOWN;
  if (arguments[2].isNone() && known && c10::isIntegralType(util::toScalarType(x->GetType()), /*includeBool=*/true)) {
    x = cast(ctx, x, c10::kLong);
  }
  return finish(ctx, node, ctx->net->AddCumsum(x, dim));
}

bool softmax_layer(ConversionCtx* ctx, const Node* node, AscendIE::Tensor* x, int64_t given) {
  const int64_t dim = wrapDim(given, rank(x));
  auto* const layer = ctx->net->AddSoftMax(x);
  layer->SetAxes(1U << dim);
  return finish(ctx, node, layer);
}

bool softmax(ConversionCtx* ctx, const Node* node, args& arguments) {
  return softmax_layer(ctx, node, typed(ctx, arguments, 2), arguments[1].unwrapToInt());
}

/// The third argument: whether FP16 becomes FP32.
AscendIE::Tensor* half_to_float(ConversionCtx* ctx, args& arguments) {
  AscendIE::Tensor* const x = tensor(ctx, arguments);
  return arguments[2].unwrapToBool() ? cast(ctx, x, c10::kFloat) : x;
}

bool inner_softmax(ConversionCtx* ctx, const Node* node, args& arguments) {
  return softmax_layer(ctx, node, half_to_float(ctx, arguments), arguments[1].unwrapToInt());
}

bool inner_log_softmax(ConversionCtx* ctx, const Node* node, args& arguments) {
  AscendIE::Tensor* const x = half_to_float(ctx, arguments);
  return finish(ctx, node, ctx->net->AddOperation("LogSoftMax", {x}, {{"dim", arguments[1].unwrapToInt()}}));
}

constexpr SchemaRow kReductionsSchemas[] = {
    {"aten::all(Tensor self) -> Tensor", "All"},
    {"aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", "All"},
    {"aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", "All"},
    {"aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", "AMax"},
    {"aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", "AMin"},
    {"aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", "AMinMax"},
    {"aten::any(Tensor self) -> Tensor", "Any"},
    {"aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", "Any"},
    {"aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", "Any"},
    {"aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", "ArgMax"},
    {"aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", "ArgMin"},
    {"aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", "ArgSort"},
    {"aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", "ArgSort"},
    {"aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", "CumulativeProduct"},
    {"aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", "VectorNorm"},
    {"aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     "Norm"},
    {"aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     "Norm"},
    {"aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     "VectorNorm"},
    {"aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", "LogSoftMax"},
    {"aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", "LogSumExp"},
    {"aten::max(Tensor self) -> Tensor", "AMax"},
    {"aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", "MaxWithIndex"},
    {"aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", "Mean"},
    {"aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", "Mean"},
    {"aten::min(Tensor self) -> Tensor", "AMin"},
    {"aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", "MinWithIndex"},
    {"aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", "VectorNorm"},
    {"aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", "VectorNorm"},
    {"aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
     "VectorNorm"},
    {"aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", "VectorNorm"},
    {"aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", "Product"},
    {"aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", "Product"},
    {"aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", "Sort"},
    {"aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> "
     "(Tensor values, Tensor indices)",
     "Sort"},
    {"aten::std(Tensor self, bool unbiased=True) -> Tensor", "StandardDeviation"},
    {"aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     "StandardDeviation"},
    {"aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", "StandardDeviation"},
    {"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", "Sum"},
    {"aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", "Sum"},
    {"aten::topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> "
     "(Tensor values, Tensor indices)",
     "TopK"},
    {"aten::var(Tensor self, bool unbiased=True) -> Tensor", "Variance"},
    {"aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     "Variance"},
    {"aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", "Variance"},
    {"aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", "VarianceAndMean"},
    {"aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
     "(Tensor, Tensor)",
     "VarianceAndMean"},
    {"aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
     "VarianceAndMean"},
};

const auto g_reductions_rows = by_schema(kReductionsSchemas);

const auto g_other_reductions =
    RegisterNodeConverters()
        .pattern("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", cumsum)
        .pattern("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", softmax)
        .pattern("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", inner_softmax)
        .pattern("aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", inner_log_softmax);

}  // namespace

}  // namespace torch_aie::core::conversion::converters
