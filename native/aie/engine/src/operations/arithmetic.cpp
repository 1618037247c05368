// operations/arithmetic.cpp: functions of single elements.
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/acos.h>
#include <ATen/ops/asin.h>
#include <ATen/ops/atan.h>
#include <ATen/ops/bitwise_and.h>
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
#include <ATen/ops/exp.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mul.h>
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
#include <ATen/ops/tan.h>
#include <ATen/ops/where.h>
#include <c10/util/Exception.h>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Tensor;

using Unary = Tensor (*)(const Tensor&);
Unary unary_functions[] = {
    at::abs,   at::acos,  at::asin,  at::atan, at::ceil, at::cos,         at::cosh,
    at::erf,   at::exp,   at::floor, at::log,  at::neg,  at::logical_not, at::reciprocal,
    at::round, at::rsqrt, at::sign,  at::sin,  at::sinh, at::sqrt,        at::tan,
};

using Binary = Tensor (*)(const Tensor&, const Tensor&);
Binary binary_functions[] = {
    at::maximum,
    at::minimum,
    [](const Tensor& a, const Tensor& b) { return a + b; },
    [](const Tensor& a, const Tensor& b) { return a - b; },
    at::mul,
    at::div,
    at::lt,
    at::pow,
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
};

Tensor quantize(const Call& c) {
  return at::clamp(at::round(c[0] * c.real("scale") + c.real("offset")), -128, 127).to(at::kChar);
}

const Operation kOperations[] = {
    {"Cast", 1, [](const Call& c) -> Tensors { return {c[0].to(c.type("type"))}; }},
    {"Clip", 1, [](const Call& c) -> Tensors { return {at::clamp(c[0], c.real("low"), c.real("high"))}; }},
    {"ElementWise", 2,
     [](const Call& c) -> Tensors {
       return {selected<ElementWiseOperation>(c, "element-wise operation", binary_functions)(c[0], c[1])};
     }},
    {"Quantize", 1, [](const Call& c) -> Tensors { return {quantize(c)}; }},
    {"Select", 3, [](const Call& c) -> Tensors { return {at::where(c[0], c[1], c[2])}; }},
    {"Unary", 1,
     [](const Call& c) -> Tensors { return {selected<UnaryOperation>(c, "unary operation", unary_functions)(c[0])}; }},
};

}  // namespace

Table arithmetic() { return kOperations; }

}  // namespace AscendIE
