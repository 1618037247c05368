// native/live/plan/plan_reader.cpp
#include "live/plan/plan_reader.h"

#include <pybind11/complex.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "live/plan/check_reader.h"
#include "live/plan/rule_reader.h"

namespace opwright::live {
namespace {

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

class Reader : private RuleReader {
 public:
  explicit Reader(const c10::OperatorHandle& op) : RuleReader(op), checks_(op) { plan_.name = name_; }

  std::shared_ptr<const Plan> read(const py::dict& plan);

 private:
  size_t output(const std::string& place, const py::handle& value) const {
    const auto position = as<size_t>(place, value, "the position of an output");
    if (position >= plan_.outputs.size()) {
      refuse(place, "there is no output ", position, "; the plan has ", plan_.outputs.size());
    }
    return position;
  }

  Output output_rule(const std::string& place, const py::handle& value) const;
  Parameter parameter(const std::string& place, const py::handle& value) const;
  Source source(const std::string& place, const Parameter& parameter, const CTypeRow& row, const py::handle& value,
                std::string& text) const;
  at::Scalar number(const std::string& place, const py::handle& value) const;
  c10::IValue constant(const std::string& place, const Parameter& parameter, const py::handle& value) const;
  std::vector<Return> returns(const std::string& place, const py::handle& value) const;
  std::vector<size_t> tensors(const py::dict& plan, const char* key) const;
  void collect_passed();

  const CheckReader checks_;
  Plan plan_;
};

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
  } else if (word == "seed" || word == "offset") {
    if (parameter.ctype != CType::kInteger) refuse(place, "a ", word, " cannot be passed as ", parameter.c_name);
    result.kind = word == "seed" ? Source::Kind::kSeed : Source::Kind::kOffset;
    result.positions = {argument(place, parts[1], kGeneratorType, "a generator")};
    text = c10::str("the ", word, " of argument '", plan_.arguments[result.positions[0]], "'");
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

// The arguments that an optional entry of the plan names.
std::vector<size_t> Reader::tensors(const py::dict& plan, const char* key) const {
  std::vector<size_t> result;
  if (!plan.contains(key)) return result;
  for (const py::handle position : as_tuple(at("", key), plan[key], 0)) {
    result.push_back(argument(at("", key), position, kTensorType | kTensorsType, "a tensor"));
  }
  return result;
}

void Reader::collect_passed() {
  std::set<size_t> positions;
  for (const Output& rule : plan_.outputs) {
    if (rule.argument) positions.insert(*rule.argument);
  }
  for (const Parameter& parameter : plan_.parameters) {
    if (parameter.source.kind == Source::Kind::kArgument) positions.insert(parameter.source.positions[0]);
  }
  for (const size_t position : positions) {
    const unsigned found = category(schema_.arguments()[position].real_type());
    if ((found & (kTensorType | kTensorsType)) != 0) plan_.passed.push_back(position);
  }
}

std::shared_ptr<const Plan> Reader::read(const py::dict& plan) {
  static const std::set<std::string> known{"function", "outputs", "parameters", "returns",
                                           "checks",   "clone",   "contiguous"};
  for (const auto& [key, value] : plan) {
    if (known.count(py::str(key)) == 0) refuse("", "no entry is called ", py::repr(key));
  }
  plan_.function = as<std::string>(at("", "function"), entry(plan, "", "function"), "a name");
  plan_.phase1 = plan_.function + "GetWorkspaceSize";
  for (const c10::Argument& argument : schema_.arguments()) {
    plan_.arguments.push_back(argument.name());
    plan_.written.push_back(argument.alias_info() != nullptr && argument.alias_info()->isWrite());
  }
  const std::string outputs = at("", "outputs");
  const py::tuple rules = as_tuple(outputs, entry(plan, "", "outputs"), 0);
  for (size_t i = 0; i < rules.size(); ++i) plan_.outputs.push_back(output_rule(at(outputs, i), rules[i]));
  const std::string parameters = at("", "parameters");
  const py::tuple sources = as_tuple(parameters, entry(plan, "", "parameters"), 0);
  for (size_t i = 0; i < sources.size(); ++i) plan_.parameters.push_back(parameter(at(parameters, i), sources[i]));
  plan_.returns = returns(at("", "returns"), entry(plan, "", "returns"));
  plan_.clone = tensors(plan, "clone");
  for (const size_t position : plan_.clone) plan_.written[position] = true;
  plan_.contiguous = tensors(plan, "contiguous");
  if (plan.contains("checks")) plan_.checks = checks_.read(at("", "checks"), plan["checks"]);
  collect_passed();
  return std::make_shared<const Plan>(std::move(plan_));
}

}  // namespace

std::shared_ptr<const Plan> read_plan(const c10::OperatorHandle& op, const py::dict& plan) {
  return Reader(op).read(plan);
}

}  // namespace opwright::live
