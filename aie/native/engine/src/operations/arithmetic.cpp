// operations/arithmetic.cpp: functions of single elements.
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/acos.h>
#include <ATen/ops/acosh.h>
#include <ATen/ops/addcdiv.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/asin.h>
#include <ATen/ops/asinh.h>
#include <ATen/ops/atan.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/atanh.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_not.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/cosh.h>
#include <ATen/ops/div.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/erfc.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/fmod.h>
#include <ATen/ops/frac.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/le.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log10.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/logical_xor.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/round.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sinh.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/square.h>
#include <ATen/ops/tan.h>
#include <ATen/ops/trunc.h>
#include <ATen/ops/where.h>
#include <c10/util/Exception.h>

#include "operations/optional.h"
#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

using Unary = Tensor (*)(const Tensor&);
Unary unary_functions[] = {
    at::abs,      at::acos,  at::asin,  at::atan,        at::ceil,       at::cos,    at::cosh,  at::erf,   at::exp,
    at::floor,    at::log,   at::neg,   at::logical_not, at::reciprocal, at::round,  at::rsqrt, at::sign,  at::sin,
    at::sinh,     at::sqrt,  at::tan,   at::acosh,       at::asinh,      at::atanh,  at::log2,  at::log1p, at::expm1,
    at::isfinite, at::isinf, at::isnan, at::bitwise_not, at::trunc,      at::square, at::erfc,
};

/// A power with one exponent has faster kernels.
Tensor power(const Tensor& base, const Tensor& exponent) {
  const bool number = exponent.dim() == 0 && !exponent.is_meta() && base.dim() > 0;
  return number ? at::pow(base, exponent.item()) : at::pow(base, exponent);
}

using Binary = Tensor (*)(const Tensor&, const Tensor&);
Binary binary_functions[] = {
    at::maximum,
    at::minimum,
    [](const Tensor& a, const Tensor& b) { return a + b; },
    [](const Tensor& a, const Tensor& b) { return a - b; },
    at::mul,
    at::div,
    at::lt,
    power,
    at::floor_divide,
    at::remainder,
    at::eq,
    at::gt,
    at::ge,
    at::le,
    at::ne,
    at::logical_or,
    at::logical_and,
    at::bitwise_and,
    at::bitwise_or,
    at::bitwise_xor,
    at::bitwise_right_shift,
    [](const Tensor& a, const Tensor& b) { return at::div(a, b, "trunc"); },
    at::fmod,
    at::atan2,
    at::logical_xor,
    at::bitwise_left_shift,
};

/// Bounds are numbers or absent; the documented layer keeps the input's type, PyTorch's function promotes it.
Tensor clip(const Call& c) {
  const Tensor result = at::clamp(c[0], c.scalar("low"), c.scalar("high"));
  return c.integer("keep_type") ? result.to(c[0].scalar_type()) : result;
}

/// Bounds are operands: `min` and `max` are their numbers.
Tensor clamp(const Call& c) { return at::clamp(c[0], optional_input(c, "min"), optional_input(c, "max")); }

Tensor lerp(const Call& c) {
  return c.has("weight") ? at::lerp(c[0], c[1], *c.scalar("weight")) : at::lerp(c[0], c[1], c[2]);
}

at::Scalar value(const Call& c) { return c.scalar("value").value_or(1); }

Tensor nan_to_num(const Call& c) {
  return at::nan_to_num(c[0], optional_real(c, "nan"), optional_real(c, "posinf"), optional_real(c, "neginf"));
}

const Operation kArithmeticOperations[] = {
    {"AddCDiv", 3, [](const Call& c) -> Tensors { return {at::addcdiv(c[0], c[1], c[2], value(c))}; }},
    {"AddCMul", 3, [](const Call& c) -> Tensors { return {at::addcmul(c[0], c[1], c[2], value(c))}; }},
    {"Cast", 1, [](const Call& c) -> Tensors { return {c[0].to(c.type("type"))}; }},
    {"Clamp", 1, [](const Call& c) -> Tensors { return {clamp(c)}; }},
    {"Clip", 1, [](const Call& c) -> Tensors { return {clip(c)}; }},
    {"ElementWise", 2,
     [](const Call& c) -> Tensors {
       return {selected<ElementWiseOperation>(c, "element-wise operation", binary_functions)(c[0], c[1])};
     }},
    {"Frac", 1, [](const Call& c) -> Tensors { return {at::frac(c[0])}; }},
    {"Lerp", 2, [](const Call& c) -> Tensors { return {lerp(c)}; }},
    {"Log10", 1, [](const Call& c) -> Tensors { return {at::log10(c[0])}; }, Precision::kFull},
    {"NanToNum", 1, [](const Call& c) -> Tensors { return {nan_to_num(c)}; }},
    {"Select", 3, [](const Call& c) -> Tensors { return {at::where(c[0], c[1], c[2])}; }},
    {"Unary", 1,
     [](const Call& c) -> Tensors { return {selected<UnaryOperation>(c, "unary operation", unary_functions)(c[0])}; },
     Precision::kFull},
};

}  // namespace

Table arithmetic() { return kArithmeticOperations; }

}  // namespace AscendIE
