// native/opapi/ops/reduction/reduction.cpp
// Sums, products, extremes, order statistics, moments, norms, counts. No dims stand for all dims.
#include "opapi/ops/common/precision.h"

namespace {

using Dims = at::IntArrayRef;

// ATen reads an empty list of dims as "none" in a few reductions.
at::OptionalIntArrayRef or_all(Dims dims) {
  return dims.empty() ? at::OptionalIntArrayRef(std::nullopt) : at::OptionalIntArrayRef(dims);
}

void aminmax(const at::Tensor& self, Dims dims, bool keepdim, at::Tensor& min, at::Tensor& max) {
  if (dims.size() == 1 && self.dim() > 0) {
    at::aminmax_out(min, max, self, dims[0], keepdim);
  } else if (dims.size() == static_cast<size_t>(self.dim())) {
    at::aminmax_out(min, max, self, std::nullopt, keepdim);
  } else {
    at::amin_out(min, self, dims, keepdim);
    at::amax_out(max, self, dims, keepdim);
  }
}

void vector_norm(const at::Tensor& self, const at::Scalar& ord, Dims dims, bool keepdim, at::ScalarType dtype,
                 at::Tensor& out) {
  // A narrower or integer dtype is not among what ATen's norm converts to: the input is converted first, as torch does.
  const bool converts = c10::toRealValueType(self.scalar_type()) == c10::toRealValueType(dtype);
  const at::Tensor input = converts ? self : self.to(self.is_complex() ? c10::toComplexType(dtype) : dtype);
  into(out, c10::toRealValueType(dtype),
       [&](at::Tensor& target) { at::linalg_vector_norm_out(target, input, ord, dims, keepdim); });
}

void histc(const at::Tensor& self, int64_t bins, const at::Scalar& min, const at::Scalar& max, at::Tensor& out) {
  // ATen counts floating-point numbers only.
  const bool integral = at::isIntegralType(self.scalar_type(), true);
  const at::ScalarType dtype = integral ? at::kDouble : self.scalar_type();
  into(out, dtype, [&](at::Tensor& target) { at::histc_out(target, self.to(dtype), bins, min, max); });
}

}  // namespace

ACLNN(All, (In, self)(Ints, dim)(Bool, keepdim)(Out, out), at::all_out(out, self, or_all(dim), keepdim))
ACLNN(Any, (In, self)(Ints, dim)(Bool, keepdim)(Out, out), at::any_out(out, self, or_all(dim), keepdim))

ACLNN(Amax, (In, self)(Ints, dim)(Bool, keepDim)(Out, out), at::amax_out(out, self, dim, keepDim))
ACLNN(Amin, (In, self)(Ints, dim)(Bool, keepDim)(Out, out), at::amin_out(out, self, dim, keepDim))
ACLNN(Max, (In, self)(Out, out), at::max_out(out, self))
ACLNN(Min, (In, self)(Out, out), at::min_out(out, self))
ACLNN(Aminmax, (In, self)(Ints, dim)(Bool, keepDim)(Out, minOut)(Out, maxOut),
      aminmax(self, dim, keepDim, minOut, maxOut))
ACLNN(AminmaxAll, (In, self)(Out, minOut)(Out, maxOut), aminmax(self, {}, false, minOut, maxOut))
ACLNN(AminmaxDim, (In, self)(Int, dim)(Bool, keepDim)(Out, minOut)(Out, maxOut),
      aminmax(self, dim, keepDim, minOut, maxOut))

ACLNN(ArgMax, (In, self)(Int, dim)(Bool, keepdim)(OutIndex, out), at::argmax_out(out, self, dim, keepdim))
ACLNN(ArgMin, (In, self)(Int, dim)(Bool, keepdim)(OutIndex, out), at::argmin_out(out, self, dim, keepdim))

#define VALUE_AND_INDEX(NAME, FUNCTION)                                         \
  ACLNN(NAME, (In, self)(Int, dim)(Bool, keepdim)(Out, out)(OutIndex, indices), \
        at::FUNCTION##_out(out, indices, self, dim, keepdim))
VALUE_AND_INDEX(MaxDim, max)
VALUE_AND_INDEX(MinDim, min)
VALUE_AND_INDEX(MedianDim, median)
VALUE_AND_INDEX(NanMedianDim, nanmedian)
ACLNN(Kthvalue, (In, self)(Int, k)(Int, dim)(Bool, keepdim)(Out, valuesOut)(OutIndex, indicesOut),
      at::kthvalue_out(valuesOut, indicesOut, self, k, dim, keepdim))
ACLNN(Median, (In, self)(Out, valuesOut), assign(valuesOut, at::median(self)))
ACLNN(NanMedian, (In, self)(Out, out), assign(out, at::nanmedian(self)))

#define TOTAL(NAME, FUNCTION)                                                 \
  ACLNN(NAME, (In, self)(Ints, dims)(Bool, keepDims)(Dtype, dtype)(Out, out), \
        into(out, dtype, [&](at::Tensor& target) { at::FUNCTION##_out(target, self, dims, keepDims, dtype); }))
TOTAL(Mean, mean)
TOTAL(ReduceSum, sum)
TOTAL(ReduceNansum, nansum)
ACLNN(Prod, (In, self)(Dtype, dtype)(Out, out), assign(out, at::prod(self, computed_in(dtype))))
ACLNN(ProdDim, (In, self)(Int, dim)(Bool, keepDim)(Dtype, dtype)(Out, out),
      into(out, computed_in(dtype),
           [&](at::Tensor& target) { at::prod_out(target, self, dim, keepDim, computed_in(dtype)); }))
ACLNN(LogSumExp, (In, self)(Ints, dim)(Bool, keepDim)(Out, out), at::logsumexp_out(out, self, dim, keepDim))
ACLNN(Trace, (In, self)(Out, out), assign(out, at::trace(self)))

ACLNN(Std, (In, self)(Ints, dim)(Int, correction)(Bool, keepdim)(Out, out),
      at::std_out(out, self, dim, at::Scalar(correction), keepdim))
ACLNN(VarCorrection, (In, self)(Ints, dim)(Int, correction)(Bool, keepdim)(Out, out),
      at::var_out(out, self, dim, at::Scalar(correction), keepdim))
ACLNN(StdMeanCorrection, (In, self)(Ints, dim)(Int, correction)(Bool, keepdim)(Out, stdOut)(Out, meanOut),
      assign(stdOut, meanOut, at::std_mean(self, dim, at::Scalar(correction), keepdim)))
ACLNN(VarMean, (In, self)(Ints, dim)(Int, correction)(Bool, keepdim)(Out, varOut)(Out, meanOut),
      assign(varOut, meanOut, at::var_mean(self, dim, at::Scalar(correction), keepdim)))

ACLNN(Norm, (In, self)(Scalar, pScalar)(Ints, dim)(Bool, keepdim)(Out, out),
      vector_norm(self, pScalar, dim, keepdim, out.scalar_type(), out))
ACLNN(LinalgVectorNorm, (In, self)(Scalar, ord)(Ints, dims)(Bool, keepDims)(Dtype, dtype)(Out, out),
      vector_norm(self, ord, dims, keepDims, dtype, out))

ACLNN(Bincount, (In, self)(OptIn, weights)(Int, minlength)(Out, out),
      assign(out, at::bincount(self, weights, minlength)))
ACLNN(Histc, (In, self)(Int, bins)(Scalar, min)(Scalar, max)(Out, out), histc(self, bins, min, max, out))
