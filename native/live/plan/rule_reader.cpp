// native/live/plan/rule_reader.cpp
#include "live/plan/rule_reader.h"

#include <torch/csrc/utils/pybind.h>

#include <map>
#include <memory>
#include <optional>

namespace opwright::live {

unsigned category(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return kTensorType;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return kIntType;
    case c10::TypeKind::FloatType:
      return kFloatType;
    case c10::TypeKind::BoolType:
      return kBoolType;
    case c10::TypeKind::NumberType:
      return kNumberType;
    case c10::TypeKind::StringType:
      return kTextType;
    case c10::TypeKind::ScalarTypeType:
      return kDtypeType;
    case c10::TypeKind::GeneratorType:
      return kGeneratorType;
    case c10::TypeKind::OptionalType:
      return category(type->containedType(0));
    case c10::TypeKind::ListType: {
      static const std::map<unsigned, unsigned> lists{{kTensorType, kTensorsType},
                                                      {kIntType, kIntsType},
                                                      {kFloatType, kFloatsType},
                                                      {kBoolType, kBoolsType},
                                                      {kNumberType, kNumbersType}};
      const auto found = lists.find(category(type->containedType(0)));
      return found == lists.end() ? 0 : found->second;
    }
    default:
      return 0;
  }
}

std::string at(const std::string& place, const char* key) { return place + "['" + key + "']"; }
std::string at(const std::string& place, size_t index) { return place + "[" + std::to_string(index) + "]"; }

Size RuleReader::size(const std::string& place, const py::handle& value, bool may_be_real) const {
  struct Row {
    Operation operation;
    size_t entries;
    unsigned argument;  // types of the argument, 0: none
    const char* wanted;
  };
  static const std::map<std::string, Row> table{
      {"const", {Operation::kConst, 2, 0, ""}},
      {"dim", {Operation::kDim, 3, 0, ""}},
      {"rank", {Operation::kRank, 2, 0, ""}},
      {"arg", {Operation::kArgument, 2, kIntType, "an int"}},
      {"len", {Operation::kLength, 2, kTensorsType | kNumbers, "a list"}},
      {"elem", {Operation::kElement, 3, kIntsType, "a list of int"}},
      {"+", {Operation::kAdd, 3, 0, ""}},
      {"-", {Operation::kSubtract, 3, 0, ""}},
      {"*", {Operation::kMultiply, 3, 0, ""}},
      {"//", {Operation::kFloorDivide, 3, 0, ""}},
      {"ceildiv", {Operation::kCeilDivide, 3, 0, ""}},
      {"%", {Operation::kModulo, 3, 0, ""}},
      {"min", {Operation::kMinimum, 3, 0, ""}},
      {"max", {Operation::kMaximum, 3, 0, ""}},
  };
  if (py::isinstance<py::int_>(value)) return {Operation::kConst, 0, {}, value.cast<int64_t>(), {}, 0};
  const py::tuple parts = as_tuple(place, value, 1);
  const auto word = as<std::string>(place, parts[0], "a word");
  const auto found = table.find(word);
  if (found == table.end()) refuse(place, "no size is called '", word, "'");
  const Row& row = found->second;
  if (parts.size() != row.entries) refuse(place, py::repr(parts), " does not have ", row.entries, " entries");
  Size result{row.operation, 0, {}, 0, {}, 0};
  if (may_be_real && row.operation == Operation::kConst && py::isinstance<py::float_>(parts[1])) {
    return {Operation::kReal, 0, {}, 0, {}, parts[1].cast<double>()};
  }
  const unsigned real = may_be_real && row.operation == Operation::kArgument ? unsigned{kFloatType} : 0u;
  if (row.argument != 0) result.argument = argument(place, parts[1], row.argument | real, row.wanted);
  if (row.operation == Operation::kDim || row.operation == Operation::kRank) {
    tensor(place, parts[1], result.argument, result.index);
  }
  if (row.operation >= Operation::kAdd) {
    result.operands = {size(at(place, 1), parts[1], may_be_real), size(at(place, 2), parts[2], may_be_real)};
  } else if (row.entries == 3 || row.operation == Operation::kConst) {
    result.value = as<int64_t>(place, parts[parts.size() - 1], "a number");
  }
  return result;
}

Item RuleReader::item(const std::string& place, const py::handle& value) const {
  Item result;
  const bool worded =
      py::isinstance<py::tuple>(value) && py::len(value) > 0 && py::isinstance<py::str>(value[py::int_(0)]);
  const std::string word = worded ? value[py::int_(0)].cast<std::string>() : "";
  if (word == "span") {
    const py::tuple parts = as_tuple(place, value, 4);
    result.kind = Item::Kind::kSpan;
    tensor(place, parts[1], result.argument, result.index);
    result.start = as<int64_t>(place, parts[2], "a number");
    result.stop = as<std::optional<int64_t>>(place, parts[3], "a number or None");
  } else if (word == "sizes") {
    result.kind = Item::Kind::kSizes;
    result.argument = argument(place, as_tuple(place, value, 2)[1], kIntsType, "a list of int");
  } else if (word == "broadcast") {
    result.kind = Item::Kind::kBroadcast;
    const py::tuple shapes = as_tuple(place, as_tuple(place, value, 2)[1], 1);
    for (size_t i = 0; i < shapes.size(); ++i) result.shapes.push_back(shape(at(place, i), shapes[i]));
  } else if (word == "reduced") {
    const py::tuple parts = as_tuple(place, value, 4);
    result.kind = Item::Kind::kReduced;
    tensor(place, parts[1], result.argument, result.index);
    if (!parts[2].is_none()) result.dims = argument(place, parts[2], kIntsType | kIntType, "a list of int");
    if (!parts[3].is_none()) result.keepdim = argument(place, parts[3], kBoolType, "a bool");
  } else {
    result.size = size(place, value);
  }
  return result;
}

Shape RuleReader::shape(const std::string& place, const py::handle& value) const {
  const py::tuple items = as_tuple(place, value, 0);
  Shape result;
  for (size_t i = 0; i < items.size(); ++i) result.push_back(item(at(place, i), items[i]));
  return result;
}

at::ScalarType RuleReader::dtype_name(const std::string& place, const py::handle& value) const {
  const py::object dtype = py::isinstance<py::str>(value) ? py::getattr(py::module_::import("torch"), value, py::none())
                                                          : py::reinterpret_borrow<py::object>(value);
  if (!THPDtype_Check(dtype.ptr())) refuse(place, "torch has no dtype ", py::repr(value));
  return dtype.cast<at::ScalarType>();
}

DtypeRule RuleReader::dtype(const std::string& place, const py::handle& value) const {
  const py::tuple parts = as_tuple(place, value, 2);
  const auto word = as<std::string>(place, parts[0], "a word");
  DtypeRule result;
  if (word == "like") {
    result.kind = DtypeRule::Kind::kLike;
    result.arguments = {argument(place, parts[1], kTensorType | kTensorsType, "a tensor")};
  } else if (word == "fixed") {
    result.fixed = dtype_name(place, parts[1]);
  } else if (word == "promote") {
    result.kind = DtypeRule::Kind::kPromote;
    for (const py::handle position : as_tuple(place, parts[1], 1)) {
      result.arguments.push_back(
          argument(place, position, kTensorType | kTensorsType | kNumber, "a tensor or a number"));
    }
  } else if (word == "argument") {
    result.kind = DtypeRule::Kind::kArgument;
    result.arguments = {argument(place, parts[1], kDtypeType, "a ScalarType")};
    if (parts.size() > 2 && !parts[2].is_none()) {
      result.otherwise = std::make_shared<DtypeRule>(dtype(at(place, 2), parts[2]));
    }
  } else {
    refuse(place, "no dtype rule is called '", word, "'");
  }
  return result;
}

}  // namespace opwright::live
