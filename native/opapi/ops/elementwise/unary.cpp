// native/opapi/ops/elementwise/unary.cpp
// Element-wise mathematics with one tensor operand (and the bounds of clamp, the parts of complex numbers).
#include <cmath>

#include "opapi/ops/common/precision.h"

namespace {

// ATen rounds only floating-point tensors to decimals; the device also takes integers.
void round_decimals(at::Tensor& out, const at::Tensor& self, int64_t decimals) {
  if (!at::isIntegralType(self.scalar_type(), /*includeBool=*/true)) {
    at::round_out(out, self, decimals);
  } else {
    assign(out, decimals >= 0 ? self : at::round(self.to(at::kDouble), decimals));
  }
}

void signbit(at::Tensor& out, const at::Tensor& self) {
  into(out, at::kBool, [&](at::Tensor& to) { at::signbit_out(to, self); });
}

// The caller gives replacements in float; for a double tensor its default is infinite then, and ATen's is meant.
std::optional<double> replacement(float value, const at::Tensor& self) {
  if (self.scalar_type() == at::kDouble && std::isinf(value)) return std::nullopt;
  return value;
}

// A negative eps stands for "not given".
std::optional<double> nonnegative(double eps) { return eps < 0 ? std::nullopt : std::optional<double>(eps); }

// The dtype of the parts that make a complex output.
at::ScalarType part_of(const at::Tensor& out) { return c10::toRealValueType(out.scalar_type()); }

void polar(at::Tensor& out, const at::Tensor& abs, const at::Tensor& angle) {
  // ATen has no kernel for half.
  const at::ScalarType part = part_of(out) == at::kHalf ? at::kFloat : part_of(out);
  into(out, c10::toComplexType(part), [&](at::Tensor& to) { at::polar_out(to, abs.to(part), angle.to(part)); });
}

}  // namespace

#define UNARY(NAME, FUNCTION) ACLNN(NAME, (In, self)(Out, out), at::FUNCTION##_out(out, self))
#define IN_PLACE(NAME, FUNCTION) ACLNN(Inplace##NAME, (Ref, selfRef), selfRef.FUNCTION##_())
#define BOTH(NAME, FUNCTION) UNARY(NAME, FUNCTION) IN_PLACE(NAME, FUNCTION)

UNARY(Abs, abs)
BOTH(Neg, neg)
UNARY(Sign, sgn)  // the same for real numbers; torch_npu also runs sgn of complex numbers with it
BOTH(Reciprocal, reciprocal)
BOTH(Ceil, ceil)
BOTH(Floor, floor)
BOTH(Round, round)
BOTH(Trunc, trunc)
BOTH(Frac, frac)
ACLNN(RoundDecimals, (In, self)(Int, decimals)(Out, out), round_decimals(out, self, decimals))
ACLNN(InplaceRoundDecimals, (Ref, selfRef)(Int, decimals), round_decimals(selfRef, selfRef, decimals))
ACLNN(Signbit, (In, self)(Out, out), signbit(out, self))

BOTH(Sqrt, sqrt)
BOTH(Rsqrt, rsqrt)
BOTH(Exp, exp)
BOTH(Exp2, exp2)
BOTH(Expm1, expm1)
BOTH(Log, log)
BOTH(Log10, log10)
BOTH(Log1p, log1p)
BOTH(Log2, log2)

BOTH(Sin, sin)
BOTH(Cos, cos)
BOTH(Tan, tan)
BOTH(Asin, asin)
BOTH(Acos, acos)
BOTH(Atan, atan)
BOTH(Sinh, sinh)
BOTH(Cosh, cosh)
BOTH(Tanh, tanh)
BOTH(Asinh, asinh)
BOTH(Acosh, acosh)
BOTH(Atanh, atanh)
BOTH(Sinc, sinc)

UNARY(Digamma, digamma)
UNARY(Lgamma, lgamma)

BOTH(Sigmoid, sigmoid)
BOTH(Erf, erf)
BOTH(Erfc, erfc)
BOTH(Erfinv, erfinv)
ACLNN(Logit, (In, input)(Double, eps)(Out, out),
      rounded_once(out, [&](at::Tensor& target) { at::logit_out(target, widened(input), nonnegative(eps)); }))
ACLNN(LogitGrad, (In, x)(In, dy)(Double, eps)(Out, out), rounded_once(out, [&](at::Tensor& target) {
        at::logit_backward_out(target, widened(dy), widened(x), nonnegative(eps));
      }))

ACLNN(NanToNum, (In, self)(Float, nan)(Float, posinf)(Float, neginf)(Out, out),
      at::nan_to_num_out(out, self, nan, replacement(posinf, self), replacement(neginf, self)))
ACLNN(InplaceNanToNum, (Ref, selfRef)(Float, nan)(Float, posinf)(Float, neginf),
      selfRef.nan_to_num_(nan, replacement(posinf, selfRef), replacement(neginf, selfRef)))

ACLNN(Clamp, (In, self)(OptScalar, clipValueMin)(OptScalar, clipValueMax)(Out, out),
      at::clamp_out(out, self, clipValueMin, clipValueMax))
ACLNN(ClampTensor, (In, self)(OptIn, clipValueMin)(OptIn, clipValueMax)(Out, out),
      at::clamp_out(out, self, clipValueMin, clipValueMax))
ACLNN(ClampMin, (In, self)(Scalar, clipValueMin)(Out, out), at::clamp_min_out(out, self, clipValueMin))
ACLNN(ClampMinTensor, (In, self)(In, clipValueMin)(Out, out), at::clamp_min_out(out, self, clipValueMin))
ACLNN(InplaceClampMinTensor, (Ref, selfRef)(In, clipValueMin), selfRef.clamp_min_(clipValueMin))
ACLNN(ClampMax, (In, self)(Scalar, clipValueMax)(Out, out), at::clamp_max_out(out, self, clipValueMax))
ACLNN(ClampMaxTensor, (In, self)(In, max)(Out, out), at::clamp_max_out(out, self, max))
ACLNN(InplaceClampMax, (Ref, selfRef)(Scalar, clipValueMax), selfRef.clamp_max_(clipValueMax))
ACLNN(InplaceClampMaxTensor, (Ref, selfRef)(In, max), selfRef.clamp_max_(max))

ACLNN(Real, (In, self)(Out, out), assign(out, at::real(self)))
ACLNN(AngleV2, (In, x)(Out, out), at::angle_out(out, x))
ACLNN(Complex, (In, real)(In, imag)(Out, out), at::complex_out(out, real.to(part_of(out)), imag.to(part_of(out))))
ACLNN(Polar, (In, input)(In, angle)(Out, out), polar(out, input, angle))

#undef UNARY
#undef IN_PLACE
#undef BOTH
