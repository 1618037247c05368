// native/opapi/ops/reduction/reduction.cpp
// Sums, products, extremes, order statistics, moments, norms, counts. No dims stand for all dims.
#include <numeric>

#include "opapi/ops/common/precision.h"
#include "opapi/ops/reduction/total.h"

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

// Writes `out` by `write`, as a total if all dims are reduced.
template <class Write>
void write_reduced(at::Tensor& out, const at::Tensor& self, Dims dims, bool keepdim, Write write) {
  const bool is_total = !keepdim && (dims.empty() || dims.size() == static_cast<size_t>(self.dim()));
  if (is_total) {
    write_total(out, write);
  } else {
    write(out);
  }
}

void aminmax_total(const at::Tensor& self, at::Tensor& min, at::Tensor& max) {
  write_total(min, [&](at::Tensor& min_to) {
    write_total(max, [&](at::Tensor& max_to) { aminmax(self, {}, false, min_to, max_to); });
  });
}

// Reduces by `function`, or copies `self` where no dims stand for none of them.
template <class Function>
void reduce_or_copy(at::Tensor& out, const at::Tensor& self, Dims dims, bool keepdim, bool noop_without_dims,
                    Function function) {
  if (dims.empty() && noop_without_dims) {
    assign(out, self);
  } else {
    write_reduced(out, self, dims, keepdim, function);
  }
}

// All dims behind batch and channels.
std::vector<int64_t> spatial_dims(const at::Tensor& self) {
  require(self.dim() > 2, ACLNN_ERR_PARAM_INVALID, "parameter 'self' has ", self.dim(),
          " dims, but must have 3 or more");
  std::vector<int64_t> dims(self.dim() - 2);
  std::iota(dims.begin(), dims.end(), 2);
  return dims;
}

void sum_diagonal(const at::Tensor& self, at::Tensor& out) {
  require(self.dim() == 2, ACLNN_ERR_PARAM_INVALID, "self has shape ", self.sizes(), "; allowed: two dimensions");
  assign(out, at::trace(self));
}

}  // namespace

ACLNN(All, (In, self)(Ints, dim)(Bool, keepdim)(Out, out), at::all_out(out, self, or_all(dim), keepdim))
ACLNN(Any, (In, self)(Ints, dim)(Bool, keepdim)(Out, out),
      write_reduced(out, self, dim, keepdim, [&](at::Tensor& to) { at::any_out(to, self, or_all(dim), keepdim); }))

ACLNN(Amax, (In, self)(Ints, dim)(Bool, keepDim)(Out, out), at::amax_out(out, self, dim, keepDim))
ACLNN(Amin, (In, self)(Ints, dim)(Bool, keepDim)(Out, out), at::amin_out(out, self, dim, keepDim))
ACLNN(Max, (In, self)(Out, out), write_total(out, [&](at::Tensor& to) { at::max_out(to, self); }))
ACLNN(MaxV2, (In, self)(Ints, dims)(Bool, keepDims)(Bool, noopWithEmptyDims)(Out, out),
      reduce_or_copy(out, self, dims, keepDims, noopWithEmptyDims,
                     [&](at::Tensor& to) { at::amax_out(to, self, dims, keepDims); }))
ACLNN(Min, (In, self)(Out, out), write_total(out, [&](at::Tensor& to) { at::min_out(to, self); }))
ACLNN(GlobalMaxPool, (In, self)(Out, out), at::amax_out(out, self, spatial_dims(self), /*keepdim=*/true))
ACLNN(GlobalAveragePool, (In, self)(Out, out), at::mean_out(out, self, spatial_dims(self), /*keepdim=*/true))
ACLNN(Aminmax, (In, self)(Ints, dim)(Bool, keepDim)(Out, minOut)(Out, maxOut),
      aminmax(self, dim, keepDim, minOut, maxOut))
ACLNN(AminmaxAll, (In, self)(Out, minOut)(Out, maxOut), aminmax_total(self, minOut, maxOut))
ACLNN(AminmaxDim, (In, self)(Int, dim)(Bool, keepDim)(Out, minOut)(Out, maxOut),
      aminmax(self, dim, keepDim, minOut, maxOut))

ACLNN(ArgMax, (In, self)(Int, dim)(Bool, keepdim)(OutIndex, out),
      write_reduced(out, self, dim, keepdim, [&](at::Tensor& to) { at::argmax_out(to, self, dim, keepdim); }))
ACLNN(ArgMin, (In, self)(Int, dim)(Bool, keepdim)(OutIndex, out),
      write_reduced(out, self, dim, keepdim, [&](at::Tensor& to) { at::argmin_out(to, self, dim, keepdim); }))

#define VALUE_AND_INDEX(NAME, FUNCTION)                                         \
  ACLNN(NAME, (In, self)(Int, dim)(Bool, keepdim)(Out, out)(OutIndex, indices), \
        at::FUNCTION##_out(out, indices, self, dim, keepdim))
VALUE_AND_INDEX(MaxDim, max)
VALUE_AND_INDEX(MinDim, min)
VALUE_AND_INDEX(MedianDim, median)
VALUE_AND_INDEX(NanMedianDim, nanmedian)
ACLNN(Kthvalue, (In, self)(Int, k)(Int, dim)(Bool, keepdim)(Out, valuesOut)(OutIndex, indicesOut),
      at::kthvalue_out(valuesOut, indicesOut, self, k, dim, keepdim))
ACLNN(Median, (In, self)(Out, valuesOut), write_total(valuesOut, [&](at::Tensor& to) { assign(to, at::median(self)); }))
ACLNN(NanMedian, (In, self)(Out, out), write_total(out, [&](at::Tensor& to) { assign(to, at::nanmedian(self)); }))

#define TOTAL(NAME, FUNCTION)                                                                                    \
  ACLNN(NAME, (In, self)(Ints, dims)(Bool, keepDims)(Dtype, dtype)(Out, out),                                    \
        write_reduced(out, self, dims, keepDims, [&](at::Tensor& to) {                                           \
          into(to, dtype, [&](at::Tensor& target) { at::FUNCTION##_out(target, self, dims, keepDims, dtype); }); \
        }))
TOTAL(Mean, mean)
ACLNN(MeanV2, (In, self)(Ints, dim)(Bool, keepDim)(Bool, noopWithEmptyAxes)(Out, out),
      reduce_or_copy(out, self, dim, keepDim, noopWithEmptyAxes,
                     [&](at::Tensor& to) { at::mean_out(to, self, dim, keepDim); }))
TOTAL(ReduceSum, sum)
TOTAL(ReduceNansum, nansum)
ACLNN(Prod, (In, self)(Dtype, dtype)(Out, out),
      write_total(out, [&](at::Tensor& to) { assign(to, at::prod(self, computed_in(dtype))); }))
ACLNN(ProdDim, (In, self)(Int, dim)(Bool, keepDim)(Dtype, dtype)(Out, out),
      into(out, computed_in(dtype),
           [&](at::Tensor& target) { at::prod_out(target, self, dim, keepDim, computed_in(dtype)); }))
ACLNN(LogSumExp, (In, self)(Ints, dim)(Bool, keepDim)(Out, out), at::logsumexp_out(out, self, dim, keepDim))
ACLNN(ReduceLogSum, (In, data)(Ints, axes)(Bool, keepDims)(Bool, noopWithEmptyAxes)(Out, reduce),
      reduce_or_copy(reduce, data, axes, keepDims, noopWithEmptyAxes,
                     [&](at::Tensor& to) { at::sum_out(to, data, axes, keepDims).log_(); }))
ACLNN(Trace, (In, self)(Out, out), sum_diagonal(self, out))

ACLNN(Std, (In, self)(Ints, dim)(Int, correction)(Bool, keepdim)(Out, out),
      at::std_out(out, self, dim, at::Scalar(correction), keepdim))
ACLNN(Var, (In, self)(OptInts, dim)(Bool, unbiased)(Bool, keepdim)(Out, out),
      at::var_out(out, self, dim, at::Scalar(unbiased ? 1 : 0), keepdim))
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

#undef VALUE_AND_INDEX
#undef TOTAL
