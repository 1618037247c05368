// native/live/plan/rule_reader.h
// The rules of a plan for shapes and dtypes, and what reading any part of a plan needs. Every refusal is a ValueError
// that names the operator and the place in the plan.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>

#include "live/plan/plan.h"

namespace opwright::live {

namespace py = pybind11;

// The properties of a schema type that matter here; a bit each.
enum : unsigned {
  kTensorType = 1u << 0,
  kTensorsType = 1u << 1,  // Tensor[], Tensor?[]
  kIntType = 1u << 2,      // int, SymInt
  kFloatType = 1u << 3,
  kBoolType = 1u << 4,
  kNumberType = 1u << 5,  // Scalar
  kTextType = 1u << 6,
  kDtypeType = 1u << 7,
  kIntsType = 1u << 8,
  kFloatsType = 1u << 9,
  kBoolsType = 1u << 10,
  kNumbersType = 1u << 11,
  kGeneratorType = 1u << 12,
  kNumber = kIntType | kFloatType | kBoolType | kNumberType,
  kNumbers = kIntsType | kFloatsType | kBoolsType | kNumbersType,
};

unsigned category(const c10::TypePtr& type);

// A place in the plan: outputs -> ['outputs'], its first entry -> ['outputs'][0].
std::string at(const std::string& place, const char* key);
std::string at(const std::string& place, size_t index);

class RuleReader {
 public:
  explicit RuleReader(const c10::OperatorHandle& op) : schema_(op.schema()), name_(c10::toString(op.operator_name())) {}

  // An operand of a check may be a float, the size of an output may not.
  Size size(const std::string& place, const py::handle& value, bool may_be_real = false) const;
  Shape shape(const std::string& place, const py::handle& value) const;
  DtypeRule dtype(const std::string& place, const py::handle& value) const;
  // A dtype of torch, or its name.
  at::ScalarType dtype_name(const std::string& place, const py::handle& value) const;

 protected:
  template <class... Parts>
  [[noreturn]] void refuse(const std::string& place, const Parts&... parts) const {
    throw py::value_error(c10::str(name_, ", plan", place, ": ", parts...));
  }
  py::object entry(const py::dict& from, const std::string& place, const char* key) const {
    if (!from.contains(key)) refuse(place, "has no '", key, "'");
    return from[key];
  }
  py::tuple as_tuple(const std::string& place, const py::handle& value, size_t least) const {
    if (!py::isinstance<py::tuple>(value) && !py::isinstance<py::list>(value)) {
      refuse(place, py::repr(value), " is not a tuple");
    }
    auto result = py::tuple(py::reinterpret_borrow<py::object>(value));
    if (result.size() < least) refuse(place, py::repr(value), " has fewer than ", least, " entries");
    return result;
  }
  template <class T>
  T as(const std::string& place, const py::handle& value, const char* wanted) const {
    try {
      return value.cast<T>();
    } catch (const py::cast_error&) {
      refuse(place, py::repr(value), " is not ", wanted);
    }
  }
  // The position of an argument whose type is one of `accepted`.
  size_t argument(const std::string& place, const py::handle& value, unsigned accepted, const char* wanted) const {
    const auto position = as<size_t>(place, value, "the position of an argument");
    if (position >= schema_.arguments().size()) {
      refuse(place, "there is no argument ", position, "; the schema has ", schema_.arguments().size());
    }
    const c10::Argument& found = schema_.arguments()[position];
    if ((category(found.real_type()) & accepted) == 0) {
      refuse(place, "argument '", found.name(), "' of type ", found.real_type()->str(), " is not ", wanted);
    }
    return position;
  }
  // A tensor argument, or (a list of tensors, an index).
  void tensor(const std::string& place, const py::handle& value, size_t& position,
              std::optional<int64_t>& index) const {
    if (!py::isinstance<py::tuple>(value)) {
      position = argument(place, value, kTensorType, "a tensor");
      return;
    }
    const py::tuple parts = as_tuple(place, value, 2);
    position = argument(place, parts[0], kTensorsType, "a list of tensors");
    index = as<int64_t>(place, parts[1], "a number");
  }
  const c10::FunctionSchema& schema_;
  const std::string name_;

 private:
  Item item(const std::string& place, const py::handle& value) const;
};

}  // namespace opwright::live
