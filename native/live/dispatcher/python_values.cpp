// native/live/dispatcher/python_values.cpp
#include "live/dispatcher/python_values.h"

#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Export.h>
#include <torch/csrc/utils/pybind.h>

// torch/csrc/jit/python/pybind_utils.h declares these two, with headers that take ten seconds.
namespace torch::jit {
TORCH_PYTHON_API py::object toPyObject(IValue ivalue);
TORCH_PYTHON_API IValue toIValue(py::handle obj, const c10::TypePtr& type, std::optional<int32_t> N = std::nullopt);
}  // namespace torch::jit

namespace opwright::live {
namespace {

// Enumerations of torch are integers on the stack; only the schema says what they mean.
py::object enumeration(const c10::IValue& value, c10::TypeKind kind) {
  const int64_t code = value.toInt();
  switch (kind) {
    case c10::TypeKind::ScalarTypeType:
      return py::cast(static_cast<at::ScalarType>(code));
    case c10::TypeKind::LayoutType:
      // Some versions of torch have no conversion for pybind11.
      return py::reinterpret_borrow<py::object>(
          reinterpret_cast<PyObject*>(torch::getTHPLayout(static_cast<at::Layout>(code))));
    default:
      return py::cast(static_cast<at::MemoryFormat>(code));
  }
}

py::object python_value(const c10::Argument& argument, const c10::IValue& value) {
  const c10::TypePtr& type = argument.real_type();
  const auto optional = type->cast<c10::OptionalType>();
  const c10::TypeKind kind = optional ? optional->getElementType()->kind() : type->kind();
  const bool coded = kind == c10::TypeKind::ScalarTypeType || kind == c10::TypeKind::LayoutType ||
                     kind == c10::TypeKind::MemoryFormatType;
  return coded && value.isInt() ? enumeration(value, kind) : torch::jit::toPyObject(value);
}

}  // namespace

PythonArguments python_arguments(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> values) {
  const auto& arguments = schema.arguments();
  size_t positional = 0;
  while (positional < arguments.size() && !arguments[positional].kwarg_only()) ++positional;
  PythonArguments result{py::tuple(positional), {}};
  for (size_t i = 0; i < arguments.size(); ++i) {
    py::object value = python_value(arguments[i], values[i]);
    if (i < positional) {
      result.args[i] = std::move(value);
    } else {
      result.kwargs[py::str(arguments[i].name())] = std::move(value);
    }
  }
  return result;
}

void push_results(const c10::FunctionSchema& schema, const py::object& result, torch::jit::Stack* stack) {
  const auto& returns = schema.returns();
  const auto demand = [&](bool holds) {
    if (holds) return;
    throw py::type_error(c10::str(schema.operator_name(), ": returned ",
                                  py::str(py::type::of(result)).cast<std::string>(), " instead of ", returns.size(),
                                  " results"));
  };
  if (returns.size() == 1) {
    stack->push_back(torch::jit::toIValue(result, returns[0].real_type()));
    return;
  }
  if (returns.empty()) {
    demand(result.is_none());
    return;
  }
  demand(py::isinstance<py::tuple>(result) || py::isinstance<py::list>(result));
  const auto values = py::reinterpret_borrow<py::sequence>(result);
  demand(values.size() == returns.size());
  for (size_t i = 0; i < returns.size(); ++i) {
    stack->push_back(torch::jit::toIValue(py::object(values[i]), returns[i].real_type()));
  }
}

}  // namespace opwright::live
