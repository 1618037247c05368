// native/live/plan_reader.cpp
#include "live/plan_reader.h"

#include <pybind11/complex.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace py = pybind11;

namespace opwright::live {
namespace {

// What of a schema type matters here; a bit each.
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
  kNumber = kIntType | kFloatType | kBoolType | kNumberType,
  kNumbers = kIntsType | kFloatsType | kBoolsType | kNumbersType,
};

struct CTypeRow {
  CType ctype;
  unsigned accepts;  // schema types
  int64_t least = 0, most = 0;
};

template <class Integer>
CTypeRow integer_row() {
  using Limits = std::numeric_limits<Integer>;
  // Beyond int64 there is nothing that a schema's int could hold.
  const auto most = std::min<uint64_t>(static_cast<uint64_t>(Limits::max()), std::numeric_limits<int64_t>::max());
  return {CType::kInteger, kIntType | kBoolType | kNumberType, static_cast<int64_t>(Limits::min()),
          static_cast<int64_t>(most)};
}

const std::map<std::string, CTypeRow>& ctypes() {
  static const std::map<std::string, CTypeRow> table{
      {"aclTensor", {CType::kTensor, kTensorType}},
      {"aclTensorList", {CType::kTensorList, kTensorsType}},
      {"aclScalar", {CType::kScalar, kNumber}},
      {"aclScalarList", {CType::kScalarList, kNumbers}},
      {"aclIntArray", {CType::kIntArray, kIntType | kIntsType}},
      {"aclFloatArray", {CType::kFloatArray, kFloatType | kFloatsType | kIntsType}},
      {"aclBoolArray", {CType::kBoolArray, kBoolType | kBoolsType}},
      {"char", {CType::kText, kTextType}},
      {"int64_t", integer_row<int64_t>()},
      {"int32_t", integer_row<int32_t>()},
      {"int16_t", integer_row<int16_t>()},
      {"int8_t", integer_row<int8_t>()},
      {"uint64_t", integer_row<uint64_t>()},
      {"uint32_t", integer_row<uint32_t>()},
      {"uint16_t", integer_row<uint16_t>()},
      {"uint8_t", integer_row<uint8_t>()},
      {"double", {CType::kDouble, kNumber}},
      {"float", {CType::kFloat, kNumber}},
      {"bool", {CType::kBool, kBoolType | kIntType}},
      {"aclDataType", {CType::kDtype, kDtypeType | kTensorType}},
  };
  return table;
}

// By value, so that there is nothing to pass for None.
bool is_value(CType ctype) { return ctype >= CType::kInteger; }

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

class Reader {
 public:
  explicit Reader(const c10::OperatorHandle& op) : schema_(op.schema()) {
    plan_.name = c10::toString(op.operator_name());
  }

  std::shared_ptr<const Plan> read(const py::dict& plan);

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const std::string& place, const Parts&... parts) const {
    throw py::value_error(c10::str(plan_.name, ", plan", place, ": ", parts...));
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
  size_t output(const std::string& place, const py::handle& value) const {
    const auto position = as<size_t>(place, value, "the position of an output");
    if (position >= plan_.outputs.size()) {
      refuse(place, "there is no output ", position, "; the plan has ", plan_.outputs.size());
    }
    return position;
  }

  Size size(const std::string& place, const py::handle& value) const;
  Shape shape(const std::string& place, const py::handle& value) const;
  Item item(const std::string& place, const py::handle& value) const;
  DtypeRule dtype(const std::string& place, const py::handle& value) const;
  at::ScalarType dtype_name(const std::string& place, const py::handle& value) const;
  Output output_rule(const std::string& place, const py::handle& value) const;
  Parameter parameter(const std::string& place, const py::handle& value) const;
  Source source(const std::string& place, const Parameter& parameter, const CTypeRow& row, const py::handle& value,
                std::string& text) const;
  at::Scalar number(const std::string& place, const py::handle& value) const;
  c10::IValue constant(const std::string& place, const Parameter& parameter, const py::handle& value) const;
  std::vector<Return> returns(const std::string& place, const py::handle& value) const;
  void collect_tensors();

  const c10::FunctionSchema& schema_;
  Plan plan_;
};

std::string at(const std::string& place, const char* key) { return place + "['" + key + "']"; }
std::string at(const std::string& place, size_t index) { return place + "[" + std::to_string(index) + "]"; }

Size Reader::size(const std::string& place, const py::handle& value) const {
  struct Row {
    Operation operation;
    size_t entries;
    unsigned argument;  // types of the argument, 0: none
    const char* wanted;
  };
  static const std::map<std::string, Row> table{
      {"const", {Operation::kConst, 2, 0, ""}},
      {"dim", {Operation::kDim, 3, kTensorType, "a tensor"}},
      {"rank", {Operation::kRank, 2, kTensorType, "a tensor"}},
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
  if (py::isinstance<py::int_>(value)) return {Operation::kConst, 0, value.cast<int64_t>(), {}};
  const py::tuple parts = as_tuple(place, value, 1);
  const auto word = as<std::string>(place, parts[0], "a word");
  const auto found = table.find(word);
  if (found == table.end()) refuse(place, "no size is called '", word, "'");
  const Row& row = found->second;
  if (parts.size() != row.entries) refuse(place, py::repr(parts), " does not have ", row.entries, " entries");
  Size result{row.operation, 0, 0, {}};
  if (row.argument != 0) result.argument = argument(place, parts[1], row.argument, row.wanted);
  if (row.operation >= Operation::kAdd) {
    result.operands = {size(at(place, 1), parts[1]), size(at(place, 2), parts[2])};
  } else if (row.argument == 0 || row.entries == 3) {
    result.value = as<int64_t>(place, parts[parts.size() - 1], "a number");
  }
  return result;
}

Item Reader::item(const std::string& place, const py::handle& value) const {
  Item result;
  const bool worded =
      py::isinstance<py::tuple>(value) && py::len(value) > 0 && py::isinstance<py::str>(value[py::int_(0)]);
  const std::string word = worded ? value[py::int_(0)].cast<std::string>() : "";
  if (word == "span") {
    const py::tuple parts = as_tuple(place, value, 4);
    result.kind = Item::Kind::kSpan;
    result.argument = argument(place, parts[1], kTensorType, "a tensor");
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
    result.argument = argument(place, parts[1], kTensorType, "a tensor");
    if (!parts[2].is_none()) result.dims = argument(place, parts[2], kIntsType | kIntType, "a list of int");
    if (!parts[3].is_none()) result.keepdim = argument(place, parts[3], kBoolType, "a bool");
  } else {
    result.size = size(place, value);
  }
  return result;
}

Shape Reader::shape(const std::string& place, const py::handle& value) const {
  const py::tuple items = as_tuple(place, value, 0);
  Shape result;
  for (size_t i = 0; i < items.size(); ++i) result.push_back(item(at(place, i), items[i]));
  return result;
}

at::ScalarType Reader::dtype_name(const std::string& place, const py::handle& value) const {
  const py::object dtype = py::isinstance<py::str>(value) ? py::getattr(py::module_::import("torch"), value, py::none())
                                                          : py::reinterpret_borrow<py::object>(value);
  if (!THPDtype_Check(dtype.ptr())) refuse(place, "torch has no dtype ", py::repr(value));
  return dtype.cast<at::ScalarType>();
}

DtypeRule Reader::dtype(const std::string& place, const py::handle& value) const {
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

Output Reader::output_rule(const std::string& place, const py::handle& value) const {
  const auto rule = as<py::dict>(place, value, "a dict");
  Output result;
  if (rule.contains("argument")) {
    result.argument = argument(at(place, "argument"), rule["argument"], kTensorType, "a tensor");
    return result;
  }
  result.shape = shape(at(place, "shape"), entry(rule, place, "shape"));
  result.dtype = dtype(at(place, "dtype"), entry(rule, place, "dtype"));
  return result;
}

at::Scalar Reader::number(const std::string& place, const py::handle& value) const {
  if (PyBool_Check(value.ptr())) return as<bool>(place, value, "a bool");
  if (PyLong_Check(value.ptr())) return as<int64_t>(place, value, "an int of 64 bits");
  if (PyFloat_Check(value.ptr())) return as<double>(place, value, "a float");
  return c10::complex<double>(as<std::complex<double>>(place, value, "a number"));
}

// A constant in the form that an argument of the schema would have.
c10::IValue Reader::constant(const std::string& place, const Parameter& parameter, const py::handle& value) const {
  if (value.is_none()) {
    if (is_value(parameter.ctype)) refuse(place, "None cannot be passed as ", parameter.c_name);
    return {};
  }
  switch (parameter.ctype) {
    case CType::kTensor:
    case CType::kTensorList:
      refuse(place, "a constant ", parameter.c_name, " can only be None");
    case CType::kScalar:
      return number(place, value);
    case CType::kScalarList: {
      c10::impl::GenericList list(c10::NumberType::get());
      for (const py::handle item : as_tuple(place, value, 0)) list.push_back(number(at(place, list.size()), item));
      return list;
    }
    case CType::kIntArray:
      return as<std::vector<int64_t>>(place, value, "a list of int");
    case CType::kFloatArray:
      return as<std::vector<double>>(place, value, "a list of float");
    case CType::kBoolArray:
      return as<std::vector<bool>>(place, value, "a list of bool");
    case CType::kText:
      return as<std::string>(place, value, "a text");
    case CType::kInteger:
      return as<int64_t>(place, value, "an int");
    case CType::kBool:
      return as<bool>(place, value, "a bool");
    case CType::kDtype:
      return static_cast<int64_t>(dtype_name(place, value));
    case CType::kDouble:
    case CType::kFloat:
      break;
  }
  return as<double>(place, value, "a number");
}

Source Reader::source(const std::string& place, const Parameter& parameter, const CTypeRow& row,
                      const py::handle& value, std::string& text) const {
  const py::tuple parts = as_tuple(place, value, 2);
  const auto word = as<std::string>(place, parts[0], "a word");
  const std::string wanted = "what " + parameter.c_name + " can be made of";
  Source result;
  if (word == "argument" || word == "argument_or") {
    const size_t position = argument(place, parts[1], row.accepts, wanted.c_str());
    const c10::Argument& found = schema_.arguments()[position];
    text = c10::str("argument '", found.name(), "'");
    result.positions = {position};
    if (word == "argument_or") {
      result.constant = constant(place, parameter, as_tuple(place, value, 3)[2]);
    } else if (is_value(parameter.ctype) && found.real_type()->kind() == c10::TypeKind::OptionalType) {
      refuse(place, text, " can be None, which cannot be passed as ", parameter.c_name, "; use (\"argument_or\", ",
             position, ", constant)");
    }
  } else if (word == "output" || word == "outputs") {
    const bool one = word == "output";
    result.kind = one ? Source::Kind::kOutput : Source::Kind::kOutputs;
    if (one ? parameter.ctype != CType::kTensor && parameter.ctype != CType::kDtype
            : parameter.ctype != CType::kTensorList) {
      refuse(place, parameter.c_name, " cannot be made of ", word);
    }
    const py::tuple positions = one ? py::make_tuple(parts[1]) : as_tuple(place, parts[1], 1);
    for (const py::handle position : positions) result.positions.push_back(output(place, position));
    text = c10::str(word, " ", one ? std::to_string(result.positions[0]) : "");
  } else if (word == "constant") {
    result.kind = Source::Kind::kConstant;
    result.constant = constant(place, parameter, parts[1]);
    text = "a constant";
  } else if (word == "size") {
    if (parameter.ctype != CType::kInteger) refuse(place, "a size cannot be passed as ", parameter.c_name);
    result.kind = Source::Kind::kSize;
    result.size = size(place, parts[1]);
    text = "a size";
  } else {
    refuse(place, "no source is called '", word, "'");
  }
  return result;
}

Parameter Reader::parameter(const std::string& place, const py::handle& value) const {
  const py::tuple parts = as_tuple(place, value, 2);
  Parameter result;
  result.c_name = as<std::string>(place, parts[0], "a C type");
  const auto found = ctypes().find(result.c_name);
  if (found == ctypes().end()) refuse(place, "no C type is called '", result.c_name, "'");
  result.ctype = found->second.ctype;
  result.least = found->second.least;
  result.most = found->second.most;
  result.source = source(place, result, found->second, parts[1], result.text);
  return result;
}

std::vector<Return> Reader::returns(const std::string& place, const py::handle& value) const {
  const py::tuple entries = as_tuple(place, value, 0);
  if (entries.size() != schema_.returns().size()) {
    refuse(place, "has ", entries.size(), " entries, the schema returns ", schema_.returns().size());
  }
  std::vector<Return> result;
  for (size_t i = 0; i < entries.size(); ++i) {
    const c10::Argument& wanted = schema_.returns()[i];
    const std::string here = at(place, i);
    if (wanted.real_type()->kind() != c10::TypeKind::TensorType) {
      refuse(here, "return '", wanted.name(), "' is ", wanted.real_type()->str(),
             "; an aclnn function can return tensors only");
    }
    const py::tuple parts = as_tuple(here, entries[i], 2);
    const auto word = as<std::string>(here, parts[0], "a word");
    if (word == "output") {
      result.push_back({true, output(here, parts[1])});
    } else if (word == "argument") {
      result.push_back({false, argument(here, parts[1], kTensorType, "a tensor")});
    } else {
      refuse(here, "no return is called '", word, "'");
    }
  }
  return result;
}

// The arguments whose tensors the function reads or writes.
void Reader::collect_tensors() {
  const auto add = [&](size_t position) {
    const bool has = (category(schema_.arguments()[position].real_type()) & (kTensorType | kTensorsType)) != 0;
    const auto end = plan_.tensors.end();
    if (has && std::find(plan_.tensors.begin(), end, position) == end) plan_.tensors.push_back(position);
  };
  for (const Output& rule : plan_.outputs) {
    if (rule.argument) add(*rule.argument);
  }
  for (const Parameter& parameter : plan_.parameters) {
    if (parameter.source.kind == Source::Kind::kArgument) add(parameter.source.positions[0]);
  }
}

std::shared_ptr<const Plan> Reader::read(const py::dict& plan) {
  plan_.function = as<std::string>(at("", "function"), entry(plan, "", "function"), "a name");
  plan_.phase1 = plan_.function + "GetWorkspaceSize";
  for (const c10::Argument& argument : schema_.arguments()) plan_.arguments.push_back(argument.name());
  const std::string outputs = at("", "outputs");
  const py::tuple rules = as_tuple(outputs, entry(plan, "", "outputs"), 0);
  for (size_t i = 0; i < rules.size(); ++i) plan_.outputs.push_back(output_rule(at(outputs, i), rules[i]));
  const std::string parameters = at("", "parameters");
  const py::tuple sources = as_tuple(parameters, entry(plan, "", "parameters"), 0);
  for (size_t i = 0; i < sources.size(); ++i) plan_.parameters.push_back(parameter(at(parameters, i), sources[i]));
  plan_.returns = returns(at("", "returns"), entry(plan, "", "returns"));
  if (plan.contains("clone")) {
    const std::string place = at("", "clone");
    for (const py::handle position : as_tuple(place, plan["clone"], 0)) {
      plan_.clone.push_back(argument(place, position, kTensorType | kTensorsType, "a tensor"));
    }
  }
  collect_tensors();
  return std::make_shared<const Plan>(std::move(plan_));
}

}  // namespace

std::shared_ptr<const Plan> read_plan(const c10::OperatorHandle& op, const py::dict& plan) {
  return Reader(op).read(plan);
}

}  // namespace opwright::live
