// native/live/rules/sizes.cpp
#include "live/rules/sizes.h"

#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>

#include <algorithm>
#include <cmath>

namespace opwright::live {
namespace {

const c10::IValue& given(const Plan& plan, size_t position, Arguments arguments) {
  const c10::IValue& value = arguments[position];
  TORCH_CHECK_VALUE(!value.isNone(), plan.name, ": argument '", plan.arguments[position],
                    "' is None, but an output's size or dtype is computed from it");
  return value;
}

const at::Tensor& tensor(const Plan& plan, size_t position, Arguments arguments) {
  const at::Tensor& result = given(plan, position, arguments).toTensor();
  TORCH_CHECK_VALUE(result.defined(), plan.name, ": argument '", plan.arguments[position],
                    "' is not defined, but an output's size or dtype is computed from it");
  return result;
}

// An axis or index counted from the end if it is negative.
int64_t wrapped(const Plan& plan, size_t position, int64_t index, int64_t count, const char* what) {
  TORCH_CHECK_INDEX(-count <= index && index < count, plan.name, ": argument '", plan.arguments[position], "' has ",
                    count, " ", what, "(s), so there is none with index ", index);
  return index < 0 ? index + count : index;
}

// The tensor at a position, or where that is a list the one with the index.
const at::Tensor& tensor(const Plan& plan, size_t position, std::optional<int64_t> index, Arguments arguments) {
  if (!index) return tensor(plan, position, arguments);
  const auto list = given(plan, position, arguments).toListRef();
  const auto count = static_cast<int64_t>(list.size());
  return list[static_cast<size_t>(wrapped(plan, position, *index, count, "tensor"))].toTensor();
}

// Division as Python does it, of whole numbers and of others. The rest has the sign of the divisor.
int64_t floor_divide(int64_t left, int64_t right) {
  return left / right - static_cast<int64_t>(left % right != 0 && (left < 0) != (right < 0));
}

int64_t ceil_divide(int64_t left, int64_t right) { return -floor_divide(-left, right); }

int64_t modulo(int64_t left, int64_t right) { return left - floor_divide(left, right) * right; }

double modulo(double left, double right) {
  const double rest = std::fmod(left, right);
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

double floor_divide(double left, double right) {
  return std::nearbyint((left - modulo(left, right)) / right);  // a whole number but for rounding
}

double ceil_divide(double left, double right) { return floor_divide(left + right - 1, right); }

template <class T>
T combine(const Plan& plan, Operation operation, T left, T right) {
  switch (operation) {
    case Operation::kAdd:
      return left + right;
    case Operation::kSubtract:
      return left - right;
    case Operation::kMultiply:
      return left * right;
    case Operation::kMinimum:
      return std::min(left, right);
    case Operation::kMaximum:
      return std::max(left, right);
    default:
      break;
  }
  TORCH_CHECK_VALUE(right != 0, plan.name, ": the rule for an output's size divides ", left, " by 0");
  if (operation == Operation::kFloorDivide) return floor_divide(left, right);
  if (operation == Operation::kCeilDivide) return ceil_divide(left, right);
  return modulo(left, right);
}

void add_span(const Plan& plan, const Item& item, Arguments arguments, Sizes& result) {
  const auto sizes = tensor(plan, item.argument, item.index, arguments).sizes();
  const auto rank = static_cast<int64_t>(sizes.size());
  const auto bound = [rank](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank); };
  for (int64_t axis = bound(item.start), end = bound(item.stop.value_or(rank)); axis < end; ++axis) {
    result.push_back(sizes[static_cast<size_t>(axis)]);
  }
}

void add_sizes(const Plan& plan, const Item& item, Arguments arguments, Sizes& result) {
  const auto& value = given(plan, item.argument, arguments);
  for (const c10::IValue& size : value.toListRef()) result.push_back(as_int(size));
}

void add_broadcast(const Plan& plan, const Item& item, Arguments arguments, Sizes& result) {
  Sizes together;
  for (const Shape& shape : item.shapes) {
    Sizes sizes = evaluate(plan, shape, arguments);
    if (sizes.size() > together.size()) std::swap(sizes, together);
    for (size_t i = 1; i <= sizes.size(); ++i) {
      int64_t& there = together[together.size() - i];
      const int64_t here = sizes[sizes.size() - i];
      TORCH_CHECK_VALUE(there == here || there == 1 || here == 1, plan.name, ": shapes ", c10::IntArrayRef(together),
                        " and ", c10::IntArrayRef(sizes), " cannot be broadcast");
      if (there == 1) there = here;
    }
  }
  result.append(together.begin(), together.end());
}

void add_reduced(const Plan& plan, const Item& item, Arguments arguments, Sizes& result) {
  const auto sizes = tensor(plan, item.argument, item.index, arguments).sizes();
  const auto rank = static_cast<int64_t>(sizes.size());
  c10::SmallVector<bool, 8> reduced(sizes.size(), false);
  const c10::IValue none;
  const c10::IValue& dims = item.dims ? arguments[*item.dims] : none;
  const auto mark = [&](int64_t dim) {
    const int64_t axis = wrapped(plan, item.argument, dim, std::max<int64_t>(rank, 1), "axis");
    if (rank > 0) reduced[static_cast<size_t>(axis)] = true;  // torch takes 0 and -1 for a tensor without axes
  };
  if (dims.isNone() || (dims.isList() && dims.toListRef().empty())) {
    std::fill(reduced.begin(), reduced.end(), true);
  } else if (dims.isList()) {
    for (const c10::IValue& dim : dims.toListRef()) mark(as_int(dim));
  } else {
    mark(as_int(dims));
  }
  const bool keep = item.keepdim && !arguments[*item.keepdim].isNone() && arguments[*item.keepdim].toBool();
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (!reduced[axis]) {
      result.push_back(sizes[axis]);
    } else if (keep) {
      result.push_back(1);
    }
  }
}

at::native::ResultTypeState promoted(const at::native::ResultTypeState& state, const c10::IValue& value) {
  if (value.isTensor()) {
    return value.toTensor().defined() ? at::native::update_result_type_state(value.toTensor(), state) : state;
  }
  if (!value.isList()) {
    return value.isNone() ? state : at::native::update_result_type_state(value.toScalar(), state);
  }
  at::native::ResultTypeState result = state;
  for (const c10::IValue& item : value.toListRef()) result = promoted(result, item);
  return result;
}

at::ScalarType dtype_like(const Plan& plan, size_t position, Arguments arguments) {
  const c10::IValue& value = given(plan, position, arguments);
  if (value.isTensor()) return tensor(plan, position, arguments).scalar_type();
  for (const c10::IValue& item : value.toListRef()) {
    if (item.isTensor() && item.toTensor().defined()) return item.toTensor().scalar_type();
  }
  TORCH_CHECK_VALUE(false, plan.name, ": argument '", plan.arguments[position],
                    "' is empty, but an output's dtype is that of its tensors");
}

}  // namespace

int64_t as_int(const c10::IValue& value) {
  if (value.isInt()) return value.toInt();
  if (value.isBool()) return static_cast<int64_t>(value.toBool());
  return value.toSymInt().guard_int(__FILE__, __LINE__);
}

Number evaluate_number(const Plan& plan, const Size& size, Arguments arguments) {
  if (size.operation == Operation::kReal) return size.real;
  if (size.operation == Operation::kArgument && arguments[size.argument].isDouble()) {
    return arguments[size.argument].toDouble();
  }
  if (size.operation < Operation::kAdd) return evaluate(plan, size, arguments);
  const Number left = evaluate_number(plan, size.operands[0], arguments);
  const Number right = evaluate_number(plan, size.operands[1], arguments);
  if (std::holds_alternative<int64_t>(left) && std::holds_alternative<int64_t>(right)) {
    return combine(plan, size.operation, std::get<int64_t>(left), std::get<int64_t>(right));
  }
  const auto real = [](const Number& number) {
    return std::visit([](auto value) { return static_cast<double>(value); }, number);
  };
  return combine(plan, size.operation, real(left), real(right));
}

bool is_known(const DtypeRule& rule, Arguments arguments) {
  const auto has_tensor = [&](size_t position) {
    const c10::IValue& value = arguments[position];
    if (!value.isList()) return value.isTensor() && value.toTensor().defined();
    const auto items = value.toListRef();
    return std::any_of(items.begin(), items.end(),
                       [](const c10::IValue& item) { return item.isTensor() && item.toTensor().defined(); });
  };
  switch (rule.kind) {
    case DtypeRule::Kind::kLike:
    case DtypeRule::Kind::kPromote:
      return std::any_of(rule.arguments.begin(), rule.arguments.end(), has_tensor);
    case DtypeRule::Kind::kArgument:
      return !arguments[rule.arguments[0]].isNone() ||
             (rule.otherwise != nullptr && is_known(*rule.otherwise, arguments));
    case DtypeRule::Kind::kFixed:
      break;
  }
  return true;
}

int64_t evaluate(const Plan& plan, const Size& size, Arguments arguments) {
  switch (size.operation) {
    case Operation::kConst:
      return size.value;
    case Operation::kReal:
      TORCH_INTERNAL_ASSERT(false, plan.name, ": a size is a float");  // rule_reader.cpp refuses it
    case Operation::kDim: {
      const auto sizes = tensor(plan, size.argument, size.index, arguments).sizes();
      const auto rank = static_cast<int64_t>(sizes.size());
      return sizes[static_cast<size_t>(wrapped(plan, size.argument, size.value, rank, "axis"))];
    }
    case Operation::kRank:
      return tensor(plan, size.argument, size.index, arguments).dim();
    case Operation::kArgument:
      return as_int(given(plan, size.argument, arguments));
    case Operation::kLength:
      return static_cast<int64_t>(given(plan, size.argument, arguments).toListRef().size());
    case Operation::kElement: {
      const auto list = given(plan, size.argument, arguments).toListRef();
      const auto count = static_cast<int64_t>(list.size());
      return as_int(list[static_cast<size_t>(wrapped(plan, size.argument, size.value, count, "element"))]);
    }
    default:
      return combine(plan, size.operation, evaluate(plan, size.operands[0], arguments),
                     evaluate(plan, size.operands[1], arguments));
  }
}

Sizes evaluate(const Plan& plan, const Shape& shape, Arguments arguments) {
  Sizes result;
  for (const Item& item : shape) {
    switch (item.kind) {
      case Item::Kind::kSize:
        result.push_back(evaluate(plan, item.size, arguments));
        break;
      case Item::Kind::kSpan:
        add_span(plan, item, arguments, result);
        break;
      case Item::Kind::kSizes:
        add_sizes(plan, item, arguments, result);
        break;
      case Item::Kind::kBroadcast:
        add_broadcast(plan, item, arguments, result);
        break;
      case Item::Kind::kReduced:
        add_reduced(plan, item, arguments, result);
        break;
    }
  }
  for (size_t axis = 0; axis < result.size(); ++axis) {
    TORCH_CHECK_VALUE(result[axis] >= 0, plan.name, ": axis ", axis, " of an output would have the size ",
                      result[axis]);
  }
  return result;
}

at::ScalarType evaluate(const Plan& plan, const DtypeRule& rule, Arguments arguments) {
  switch (rule.kind) {
    case DtypeRule::Kind::kLike:
      return dtype_like(plan, rule.arguments[0], arguments);
    case DtypeRule::Kind::kPromote: {
      at::native::ResultTypeState state;
      for (const size_t position : rule.arguments) state = promoted(state, arguments[position]);
      return at::native::result_type(state);
    }
    case DtypeRule::Kind::kArgument: {
      const c10::IValue& value = arguments[rule.arguments[0]];
      if (!value.isNone()) return value.toScalarType();
      TORCH_CHECK_VALUE(rule.otherwise != nullptr, plan.name, ": argument '", plan.arguments[rule.arguments[0]],
                        "' is None, but an output's dtype is its value");
      return evaluate(plan, *rule.otherwise, arguments);
    }
    case DtypeRule::Kind::kFixed:
      break;
  }
  return rule.fixed;
}

}  // namespace opwright::live
