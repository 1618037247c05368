// native/opapi/ops/elementwise/foreach.cpp
// Foreach: one operator over lists of tensors. The output list may be an input list (in place).
#include "opapi/ops/common/precision.h"
#include "opapi/ops/reduction/total.h"

namespace {

using Tensors = std::vector<at::Tensor>;

// Runs `body(i)` for each output; the other lists must be as long.
template <class Body, class... Lists>
void each(const Tensors& out, Body&& body, const Lists&... lists) {
  require((true && ... && (lists.size() == out.size())), ACLNN_ERR_PARAM_INVALID,
          "the lists differ in length; the output list has ", out.size(), " tensors");
  for (size_t i = 0; i < out.size(); ++i) body(i);
}

// The older functions pass the scalar as a tensor with one element, or all scalars of a list as one tensor.
at::Scalar value_of(const at::Tensor& scalar) {
  require(scalar.numel() == 1, ACLNN_ERR_PARAM_INVALID, "the scalar tensor has ", scalar.numel(),
          " elements instead of one");
  return scalar.item();
}

std::vector<at::Scalar> values_of(const at::Tensor& scalars) {
  const at::Tensor flat = scalars.flatten();
  std::vector<at::Scalar> values;
  for (int64_t i = 0; i < flat.numel(); ++i) values.push_back(flat[i].item());
  return values;
}

// ATen rounds half precision after each product of a whole power.
template <class Base, class Exponent>
void raise(at::Tensor& out, const Base& base, const Exponent& exponent) {
  rounded_once(out, [&](at::Tensor& target) { at::pow_out(target, widened(base), widened(exponent)); });
}

void round_off(at::Tensor& out, const at::Tensor& x, int64_t mode) {
  switch (mode) {
    case 0:
    case 1:
      at::round_out(out, x);
      break;
    case 2:
      at::floor_out(out, x);
      break;
    case 3:
      at::ceil_out(out, x);
      break;
    case 4:
      at::mul_out(out, x.abs().add_(0.5).floor_(), x.sign());
      break;  // half away from zero
    case 5:
      at::trunc_out(out, x);
      break;
    case 7:
      at::frac_out(out, x);
      break;
    default:
      fail(ACLNN_ERR_PARAM_INVALID, "roundMode is ", mode,
           "; allowed: 0 and 1 (half to even), 2 (floor), 3 (ceil), 4 (half away from zero), 5 (trunc), 7 (fraction)");
  }
}

}  // namespace

#define UNARY(NAME, FUNCTION) \
  ACLNN(Foreach##NAME, (TensorList, x)(OutList, out), each(out, [&](size_t i) { at::FUNCTION##_out(out[i], x[i]); }, x))

UNARY(Abs, abs)
UNARY(Acos, acos)
UNARY(Asin, asin)
UNARY(Atan, atan)
UNARY(Cos, cos)
UNARY(Cosh, cosh)
UNARY(Erf, erf)
UNARY(Erfc, erfc)
UNARY(Exp, exp)
UNARY(Expm1, expm1)
UNARY(Log, log)
UNARY(Log10, log10)
UNARY(Log1p, log1p)
UNARY(Log2, log2)
UNARY(Neg, neg)
UNARY(Reciprocal, reciprocal)
UNARY(Sigmoid, sigmoid)
UNARY(Sign, sign)
UNARY(Sin, sin)
UNARY(Sinh, sinh)
UNARY(Sqrt, sqrt)
UNARY(Tan, tan)
UNARY(Tanh, tanh)

// One scalar for all tensors (as a tensor or a scalar), or one per tensor. EXPRESSION computes from x[i] and `value`.
#define WITH_SCALAR(NAME, EXPRESSION)                                                                                \
  ACLNN(Foreach##NAME##Scalar, (TensorList, x)(In, scalar)(OutList, out), const at::Scalar value = value_of(scalar); \
        each(out, [&](size_t i) { EXPRESSION; }, x))                                                                 \
  ACLNN(Foreach##NAME##ScalarV2, (TensorList, x)(Scalar, value)(OutList, out),                                       \
        each(out, [&](size_t i) { EXPRESSION; }, x))
#define WITH_SCALAR_LIST(NAME, EXPRESSION)                                             \
  ACLNN(Foreach##NAME##ScalarList, (TensorList, x)(ScalarList, scalars)(OutList, out), \
        each(                                                                          \
            out,                                                                       \
            [&](size_t i) {                                                            \
              const at::Scalar& value = scalars[i];                                    \
              EXPRESSION;                                                              \
            },                                                                         \
            x, scalars))
#define WITH_SCALARS(NAME, EXPRESSION) \
  WITH_SCALAR(NAME, EXPRESSION)        \
  WITH_SCALAR_LIST(NAME, EXPRESSION)
#define WITH_LIST(NAME, FUNCTION)                                            \
  ACLNN(Foreach##NAME##List, (TensorList, x1)(TensorList, x2)(OutList, out), \
        each(out, [&](size_t i) { at::FUNCTION##_out(out[i], x1[i], x2[i]); }, x1, x2))

WITH_SCALARS(Add, at::add_out(out[i], x[i], operand(value)))
WITH_SCALARS(Sub, at::sub_out(out[i], x[i], operand(value)))
WITH_SCALARS(Mul, at::mul_out(out[i], x[i], operand(value)))
WITH_SCALARS(Div, at::div_out(out[i], x[i], operand(value)))
WITH_SCALARS(Pow, raise(out[i], x[i], value))
WITH_SCALARS(Maximum, at::clamp_min_out(out[i], x[i], value))
WITH_SCALARS(Minimum, at::clamp_max_out(out[i], x[i], value))
WITH_LIST(Mul, mul)
WITH_LIST(Div, div)
ACLNN(ForeachPowList, (TensorList, x1)(TensorList, x2)(OutList, out),
      each(out, [&](size_t i) { raise(out[i], x1[i], x2[i]); }, x1, x2))
WITH_LIST(Maximum, maximum)
WITH_LIST(Minimum, minimum)
ACLNN(ForeachPowScalarAndTensor, (Scalar, scalar)(TensorList, x)(OutList, out),
      each(out, [&](size_t i) { raise(out[i], scalar, x[i]); }, x))

// out = x1 + alpha * x2
#define WITH_ALPHA(NAME, FUNCTION)                                                             \
  ACLNN(Foreach##NAME##List, (TensorList, x1)(TensorList, x2)(In, alpha)(OutList, out),        \
        const at::Scalar value = value_of(alpha);                                              \
        each(out, [&](size_t i) { at::FUNCTION##_out(out[i], x1[i], x2[i], value); }, x1, x2)) \
  ACLNN(Foreach##NAME##ListV2, (TensorList, x1)(TensorList, x2)(Scalar, alpha)(OutList, out),  \
        each(out, [&](size_t i) { at::FUNCTION##_out(out[i], x1[i], x2[i], alpha); }, x1, x2))

WITH_ALPHA(Add, add)
WITH_ALPHA(Sub, sub)

// out = x1 + value * x2 (op) x3
#define TERNARY_LIST(NAME, FUNCTION)                                                       \
  ACLNN(NAME, (TensorList, x1)(TensorList, x2)(TensorList, x3)(In, scalars)(OutList, out), \
        const auto values = values_of(scalars);                                            \
        each(out, [&](size_t i) { at::FUNCTION##_out(out[i], x1[i], x2[i], x3[i], values[i]); }, x1, x2, x3, values))
#define TERNARY(NAME, FUNCTION)                                                                                  \
  ACLNN(Foreach##NAME##Scalar, (TensorList, x1)(TensorList, x2)(TensorList, x3)(In, scalar)(OutList, out),       \
        const at::Scalar value = value_of(scalar);                                                               \
        each(out, [&](size_t i) { at::FUNCTION##_out(out[i], x1[i], x2[i], x3[i], value); }, x1, x2, x3))        \
  ACLNN(Foreach##NAME##ScalarV2, (TensorList, x1)(TensorList, x2)(TensorList, x3)(Scalar, scalar)(OutList, out), \
        each(out, [&](size_t i) { at::FUNCTION##_out(out[i], x1[i], x2[i], x3[i], scalar); }, x1, x2, x3))       \
  TERNARY_LIST(Foreach##NAME##ScalarList, FUNCTION)                                                              \
  TERNARY_LIST(Foreach##NAME##List, FUNCTION)

TERNARY(Addcdiv, addcdiv)
TERNARY(Addcmul, addcmul)

ACLNN(ForeachLerpList, (TensorList, x1)(TensorList, x2)(TensorList, weight)(OutList, out),
      each(out, [&](size_t i) { at::lerp_out(out[i], x1[i], x2[i], weight[i]); }, x1, x2, weight))
ACLNN(ForeachLerpScalar, (TensorList, x1)(TensorList, x2)(Scalar, weight)(OutList, out),
      each(out, [&](size_t i) { at::lerp_out(out[i], x1[i], x2[i], weight); }, x1, x2))

ACLNN(ForeachNorm, (TensorList, x)(Scalar, scalar)(OutList, out),
      each(
          out,
          [&](size_t i) {
            write_total(out[i], [&](at::Tensor& to) {
              at::linalg_vector_norm_out(to, x[i], scalar, std::nullopt, /*keepdim=*/false, to.scalar_type());
            });
          },
          x))
ACLNN(ForeachRoundOffNumber, (TensorList, x)(In, roundMode)(OutList, out),
      const int64_t mode = value_of(roundMode).toLong();
      each(out, [&](size_t i) { round_off(out[i], x[i], mode); }, x))
ACLNN(ForeachRoundOffNumberV2, (TensorList, x)(Scalar, roundMode)(OutList, out),
      each(out, [&](size_t i) { round_off(out[i], x[i], roundMode.toLong()); }, x))
ACLNN(ForeachCopy, (TensorList, x)(OutList, out), each(out, [&](size_t i) { out[i].copy_(x[i]); }, x))
ACLNN(ForeachZeroInplace, (RefList, x), each(x, [&](size_t i) { x[i].zero_(); }))

ACLNN(ForeachACosInplace, (RefList, x), each(x, [&](size_t i) { x[i].acos_(); }))
ACLNN(ForeachLogInplace, (RefList, x), each(x, [&](size_t i) { x[i].log_(); }))
ACLNN(ForeachAddListInplace, (RefList, x1)(TensorList, x2)(In, alpha), const at::Scalar value = value_of(alpha);
      each(x1, [&](size_t i) { x1[i].add_(x2[i], value); }, x2))
ACLNN(ForeachSubListInplace, (RefList, x1)(TensorList, x2)(In, alpha), const at::Scalar value = value_of(alpha);
      each(x1, [&](size_t i) { x1[i].sub_(x2[i], value); }, x2))
ACLNN(ForeachMulListInplace, (RefList, x1)(TensorList, x2), each(x1, [&](size_t i) { x1[i].mul_(x2[i]); }, x2))
ACLNN(ForeachDivListInplace, (RefList, x1)(TensorList, x2), each(x1, [&](size_t i) { x1[i].div_(x2[i]); }, x2))
ACLNN(ForeachMulScalarInplace, (RefList, x)(In, scalar), const at::Scalar value = value_of(scalar);
      each(x, [&](size_t i) { x[i].mul_(value); }))
ACLNN(ForeachSubScalarInplace, (RefList, x)(In, scalar), const at::Scalar value = value_of(scalar);
      each(x, [&](size_t i) { x[i].sub_(value); }))

#undef UNARY
#undef WITH_SCALAR
#undef WITH_SCALAR_LIST
#undef WITH_SCALARS
#undef WITH_LIST
#undef WITH_ALPHA
#undef TERNARY_LIST
#undef TERNARY
