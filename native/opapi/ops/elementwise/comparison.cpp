// native/opapi/ops/elementwise/comparison.cpp
// Comparisons and tests that give booleans. `out` may have any dtype.
#include <limits>

#include "opapi/opapi.h"

namespace {

void is_finite(at::Tensor& out, const at::Tensor& self) {
  if (at::isIntegralType(self.scalar_type(), /*includeBool=*/true)) {
    out.fill_(true);
  } else if (self.is_complex()) {
    assign(out, at::isfinite(self));
  } else {
    at::lt_out(out, self.abs(), std::numeric_limits<double>::infinity());  // false for NaN, too
  }
}

// ATen does not look for booleans among others.
at::Tensor comparable(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBool ? tensor.to(at::kByte) : tensor;
}

// 0 if all elements are equal.
void compare_precision(at::Tensor& out, const at::Tensor& golden, const at::Tensor& real) {
  require(golden.sizes() == real.sizes() && golden.scalar_type() == real.scalar_type(), ACLNN_ERR_PARAM_INVALID,
          "golden is ", golden.scalar_type(), golden.sizes(), " and realdata ", real.scalar_type(), real.sizes(),
          "; they must be alike");
  require(out.numel() == 1, ACLNN_ERR_PARAM_INVALID, "out has ", out.numel(), " elements; allowed: 1");
  out.fill_(at::equal(golden, real) ? 0 : 1);
}

}  // namespace

#define COMPARISON(NAME, FUNCTION)                                                                             \
  ACLNN(NAME##Tensor, (In, self)(In, other)(Out, out), at::FUNCTION##_out(out, self, other))                   \
  ACLNN(NAME##Scalar, (In, self)(Operand, other)(Out, out), at::FUNCTION##_out(out, self, other.beside(self))) \
  ACLNN(Inplace##NAME##Tensor, (Ref, selfRef)(In, other), selfRef.FUNCTION##_(other))                          \
  ACLNN(Inplace##NAME##Scalar, (Ref, selfRef)(Operand, other), selfRef.FUNCTION##_(other.beside(selfRef)))

COMPARISON(Eq, eq)
COMPARISON(Ne, ne)
COMPARISON(Lt, lt)
COMPARISON(Le, le)
COMPARISON(Gt, gt)
COMPARISON(Ge, ge)
// The only caller is ge(scalar, tensor), which passes (tensor, scalar): scalar >= tensor.
ACLNN(LessScalar, (In, self)(Operand, other)(Out, out), at::le_out(out, self, other.beside(self)))

// out: one boolean.
ACLNN(Equal, (In, self)(In, other)(Out, out),
      require(out.numel() == 1, ACLNN_ERR_PARAM_INVALID, "output 'out' has shape ", out.sizes(),
              ", but the operator produces one element");
      out.fill_(at::equal(self, other)))
ACLNN(IsClose, (In, self)(In, other)(Double, rtol)(Double, atol)(Bool, equalNan)(Out, out),
      assign(out, at::isclose(self, other, rtol, atol, equalNan)))
ACLNN(IsFinite, (In, self)(Out, out), is_finite(out, self))
ACLNN(IsInf, (In, x)(Out, out), at::isinf_out(out, x))
ACLNN(IsNegInf, (In, self)(Out, out), at::isneginf_out(out, self))
ACLNN(IsPosInf, (In, self)(Out, out), at::isposinf_out(out, self))
// ATen's out= form of isin resizes an output without dims on its way, with a warning.
ACLNN(IsInScalarTensor, (Scalar, element)(In, testElements)(Bool, assumeUnique)(Bool, invert)(Out, out),
      assign(out, at::isin(element, comparable(testElements), assumeUnique, invert)))
ACLNN(IsInTensorScalar, (In, element)(Scalar, testElement)(Bool, assumeUnique)(Bool, invert)(Out, out),
      at::isin_out(out, comparable(element), testElement, assumeUnique, invert))

#undef COMPARISON
ACLNN(PrecisionCompare, (In, golden)(In, realdata)(Out, out), compare_precision(out, golden, realdata))
