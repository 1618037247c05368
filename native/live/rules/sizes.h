// native/live/rules/sizes.h
// Shape and dtype rules, evaluated for the arguments of one call. A rule that does not hold raises with operator,
// argument and what was found.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>

#include <variant>

#include "live/plan/plan.h"

namespace opwright::live {

using Sizes = c10::SmallVector<int64_t, 8>;
using Arguments = c10::ArrayRef<c10::IValue>;

int64_t as_int(const c10::IValue& value);  // int, bool, SymInt

int64_t evaluate(const Plan& plan, const Size& size, Arguments arguments);
// An operand of a check; floats divide as Python's do.
using Number = std::variant<int64_t, double>;
Number evaluate_number(const Plan& plan, const Size& size, Arguments arguments);
Sizes evaluate(const Plan& plan, const Shape& shape, Arguments arguments);
at::ScalarType evaluate(const Plan& plan, const DtypeRule& rule, Arguments arguments);
// Whether something is given that the dtype can be computed from.
bool is_known(const DtypeRule& rule, Arguments arguments);

}  // namespace opwright::live
