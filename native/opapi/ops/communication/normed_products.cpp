// native/opapi/ops/communication/normed_products.cpp
// Sums of matrix products over the ranks, with a residual and a normalisation behind them.
#include "opapi/ops/communication/ranks.h"
#include "opapi/ops/matmul/quant_matmul.h"

namespace {

// Behind the sum of the products come y = sum + residual, and y over the root of its mean square, times gamma.
struct ResidualNorm {
  const at::Tensor &residual, &gamma;
  double epsilon;
};

// x1 of two dimensions has the rows that `residual` has in its first two.
template <class Product>
void all_reduce_add_norm(const ResidualNorm& norm, const std::string& group, at::Tensor& y, at::Tensor& normed,
                         const Product& product) {
  const at::Tensor& residual = norm.residual;
  require(residual.dim() == 3 && norm.gamma.dim() == 1 && norm.gamma.size(0) == residual.size(2),
          ACLNN_ERR_PARAM_INVALID, "residual and gamma have the shapes ", residual.sizes(), " and ", norm.gamma.sizes(),
          "; allowed: [B, S, N] and [N]");
  require_shape(y, residual.sizes(), "y");
  require_shape(normed, residual.sizes(), "normOut");
  communicate(group, [&](const RankGroup& ranks) {
    const at::Tensor part = product();
    require(part.numel() == residual.numel() && part.size(-1) == residual.size(2), ACLNN_ERR_PARAM_INVALID,
            "the product has the shape ", part.sizes(), "; the residual has ", residual.sizes());
    const at::Tensor sum = sum_over_ranks(ranks, part.to(residual.scalar_type())).view(residual.sizes());
    const at::Tensor added = (sum.to(at::kFloat) + residual.to(at::kFloat)).to(residual.scalar_type());
    const at::Tensor wide = added.to(at::kFloat);
    const at::Tensor inverse = wide.square().mean(-1, /*keepdim=*/true).add_(norm.epsilon).rsqrt_();
    assign(normed, wide.mul(inverse).mul_(norm.gamma.to(at::kFloat)));
    assign(y, added);
  });
}

void require_factors(const at::Tensor& x1, const at::Tensor& x2) {
  require(x1.dim() >= 2 && x2.dim() == 2 && (x2.scalar_type() == at::kInt || x1.size(-1) == x2.size(0)),
          ACLNN_ERR_PARAM_INVALID, "x1 and x2 have the shapes ", x1.sizes(), " and ", x2.sizes(),
          "; the columns of the one must be the rows of ", "the other");
}

}  // namespace

// The Inplace siblings write y over the residual.
#define OPWRIGHT_NORM_OPTIONS (Double, epsilon)(Group, group)(Text, reduceOp)(Int, commTurn)(Int, streamMode)
#define OPWRIGHT_ADD_NORM(RESIDUAL, Y, ...)        \
  require_options(reduceOp, commTurn, streamMode); \
  require_factors(x1, x2);                         \
  all_reduce_add_norm({RESIDUAL, gamma, epsilon}, group, Y, normOut, [&]() -> at::Tensor { return __VA_ARGS__; })
#define OPWRIGHT_PLAIN_PART quant_product({x1, x2, {}, {}, {}, {}, {}, bias}, /*unscaled=*/false)
#define OPWRIGHT_QUANT_PART quant_product({x1, x2, {}, dequantScale, {}, {}, {}, bias}, /*unscaled=*/false)
#define OPWRIGHT_WEIGHT_QUANT_PART \
  weight_quant_product(x1, x2, antiquantScale, antiquantOffset, bias, antiquantGroupSize)

ACLNN(MatmulAllReduceAddRmsNorm,
      (In, x1)(In, x2)(OptIn, bias)(In, residual)(In, gamma)OPWRIGHT_NORM_OPTIONS(Out, y)(Out, normOut),
      OPWRIGHT_ADD_NORM(residual, y, OPWRIGHT_PLAIN_PART))
ACLNN(InplaceMatmulAllReduceAddRmsNorm,
      (In, x1)(In, x2)(OptIn, bias)(Ref, residual)(In, gamma)OPWRIGHT_NORM_OPTIONS(Out, normOut),
      OPWRIGHT_ADD_NORM(residual, residual, OPWRIGHT_PLAIN_PART))
ACLNN(QuantMatmulAllReduceAddRmsNorm,
      (In, x1)(In, x2)(OptIn, bias)(In, dequantScale)(In, residual)(In, gamma)OPWRIGHT_NORM_OPTIONS(Out, y)(Out,
                                                                                                            normOut),
      OPWRIGHT_ADD_NORM(residual, y, OPWRIGHT_QUANT_PART))
ACLNN(InplaceQuantMatmulAllReduceAddRmsNorm,
      (In, x1)(In, x2)(OptIn, bias)(In, dequantScale)(Ref, residual)(In, gamma)OPWRIGHT_NORM_OPTIONS(Out, normOut),
      OPWRIGHT_ADD_NORM(residual, residual, OPWRIGHT_QUANT_PART))
ACLNN(WeightQuantMatmulAllReduceAddRmsNorm,
      (In, x1)(CodedIn, x2)(OptIn, bias)(In, antiquantScale)(OptIn, antiquantOffset)(In, residual)(In, gamma)
          OPWRIGHT_NORM_OPTIONS(Int, antiquantGroupSize)(Out, y)(Out, normOut),
      OPWRIGHT_ADD_NORM(residual, y, OPWRIGHT_WEIGHT_QUANT_PART))
ACLNN(InplaceWeightQuantMatmulAllReduceAddRmsNorm,
      (In, x1)(CodedIn, x2)(OptIn, bias)(In, antiquantScale)(OptIn, antiquantOffset)(Ref, residual)(In, gamma)
          OPWRIGHT_NORM_OPTIONS(Int, antiquantGroupSize)(Out, normOut),
      OPWRIGHT_ADD_NORM(residual, residual, OPWRIGHT_WEIGHT_QUANT_PART))
#undef OPWRIGHT_NORM_OPTIONS
#undef OPWRIGHT_ADD_NORM
#undef OPWRIGHT_PLAIN_PART
#undef OPWRIGHT_QUANT_PART
#undef OPWRIGHT_WEIGHT_QUANT_PART
