// operations/sizes.cpp: sizes of tensors, and arithmetic on them as Python has it: whole numbers stay whole, real
// numbers are doubles whatever the model computes in.
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <string>

#include "operations/tables.h"

namespace AscendIE {

namespace {

using at::Scalar;
using at::Tensor;

Tensor tensor_of(const Scalar& number) {
  const at::ScalarType type = number.isBoolean() ? at::kBool : number.isFloatingPoint() ? at::kDouble : at::kLong;
  return at::scalar_tensor(number, at::TensorOptions(type));
}

Tensor size(const Call& c) {
  const int64_t dim = c.integer("dim");
  TORCH_CHECK_INDEX(dim >= 0 && dim < c[0].dim(), "dimension ", dim, " is none of 0 to ", c[0].dim() - 1);
  return tensor_of(c[0].size(dim));
}

Scalar floor_divide(int64_t a, int64_t b) {
  TORCH_CHECK_VALUE(b != 0, "a size is divided by zero");
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Scalar remainder(int64_t a, int64_t b) { return a - floor_divide(a, b).toLong() * b; }

Scalar power(int64_t a, int64_t b) {
  if (b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
  int64_t result = 1;
  for (int64_t i = 0; i < b; ++i) result *= a;
  return result;
}

struct SizeFunction {
  const char* name;
  Scalar (*whole)(int64_t, int64_t);
  Scalar (*real)(double, double);
};

template <class T>
Scalar round(T value) {
  return std::nearbyint(static_cast<double>(value));
}

// The names of TorchScript. A function of one number does not read the second.
const SizeFunction kFunctions[] = {
    {"aten::add", [](int64_t a, int64_t b) -> Scalar { return a + b; },
     [](double a, double b) -> Scalar { return a + b; }},
    {"aten::sub", [](int64_t a, int64_t b) -> Scalar { return a - b; },
     [](double a, double b) -> Scalar { return a - b; }},
    {"aten::mul", [](int64_t a, int64_t b) -> Scalar { return a * b; },
     [](double a, double b) -> Scalar { return a * b; }},
    {"aten::div", [](int64_t a, int64_t b) -> Scalar { return static_cast<double>(a) / static_cast<double>(b); },
     [](double a, double b) -> Scalar { return a / b; }},
    {"aten::floordiv", floor_divide, [](double a, double b) -> Scalar { return std::floor(a / b); }},
    {"aten::remainder", remainder, [](double a, double b) -> Scalar { return a - std::floor(a / b) * b; }},
    {"aten::pow", power, [](double a, double b) -> Scalar { return std::pow(a, b); }},
    {"aten::neg", [](int64_t a, int64_t) -> Scalar { return -a; }, [](double a, double) -> Scalar { return -a; }},
    {"prim::abs", [](int64_t a, int64_t) -> Scalar { return a < 0 ? -a : a; },
     [](double a, double) -> Scalar { return std::abs(a); }},
    {"prim::max", [](int64_t a, int64_t b) -> Scalar { return std::max(a, b); },
     [](double a, double b) -> Scalar { return std::max(a, b); }},
    {"prim::min", [](int64_t a, int64_t b) -> Scalar { return std::min(a, b); },
     [](double a, double b) -> Scalar { return std::min(a, b); }},
    {"aten::sqrt", [](int64_t a, int64_t) -> Scalar { return std::sqrt(static_cast<double>(a)); },
     [](double a, double) -> Scalar { return std::sqrt(a); }},
    {"aten::floor", [](int64_t a, int64_t) -> Scalar { return a; },
     [](double a, double) -> Scalar { return static_cast<int64_t>(std::floor(a)); }},
    {"aten::ceil", [](int64_t a, int64_t) -> Scalar { return a; },
     [](double a, double) -> Scalar { return static_cast<int64_t>(std::ceil(a)); }},
    {"aten::round", [](int64_t a, int64_t) -> Scalar { return round(a); },
     [](double a, double) -> Scalar { return round(a); }},
    {"aten::Int", [](int64_t a, int64_t) -> Scalar { return a; },
     [](double a, double) -> Scalar { return static_cast<int64_t>(a); }},
    {"aten::Float", [](int64_t a, int64_t) -> Scalar { return static_cast<double>(a); },
     [](double a, double) -> Scalar { return a; }},
    {"aten::Bool", [](int64_t a, int64_t) -> Scalar { return a != 0; },
     [](double a, double) -> Scalar { return a != 0; }},
    {"aten::eq", [](int64_t a, int64_t b) -> Scalar { return a == b; },
     [](double a, double b) -> Scalar { return a == b; }},
    {"aten::ne", [](int64_t a, int64_t b) -> Scalar { return a != b; },
     [](double a, double b) -> Scalar { return a != b; }},
    {"aten::lt", [](int64_t a, int64_t b) -> Scalar { return a < b; },
     [](double a, double b) -> Scalar { return a < b; }},
    {"aten::le", [](int64_t a, int64_t b) -> Scalar { return a <= b; },
     [](double a, double b) -> Scalar { return a <= b; }},
    {"aten::gt", [](int64_t a, int64_t b) -> Scalar { return a > b; },
     [](double a, double b) -> Scalar { return a > b; }},
    {"aten::ge", [](int64_t a, int64_t b) -> Scalar { return a >= b; },
     [](double a, double b) -> Scalar { return a >= b; }},
};

/// An attribute holds a constant; ValueOfInput, the value of an input, which may be a real number.
Scalar operand(const Call& c, std::string_view name) {
  const auto input = c.integer(std::string(name) + "_input", -1);
  if (input < 0) return c.scalar(name).value_or(0);
  return c[static_cast<size_t>(input)].item();
}

Tensor arithmetic_on_sizes(const Call& c) {
  const std::string name = c.text("function");
  const Scalar a = operand(c, "a");
  const Scalar b = operand(c, "b");
  for (const SizeFunction& function : kFunctions) {
    if (name != function.name) continue;
    const bool real = a.isFloatingPoint() || b.isFloatingPoint();
    return tensor_of(real ? function.real(a.toDouble(), b.toDouble()) : function.whole(a.toLong(), b.toLong()));
  }
  TORCH_CHECK_VALUE(false, "the function ", name, " is none of sizes");
}

const Operation kSizesOperations[] = {
    {"Size", 1, [](const Call& c) -> Tensors { return {size(c)}; }},
    {"SizeArithmetic", 1, [](const Call& c) -> Tensors { return {arithmetic_on_sizes(c)}; }},
};

}  // namespace

Table sizes() { return kSizesOperations; }

}  // namespace AscendIE
