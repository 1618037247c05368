// native/live/check_reader.cpp
#include "live/check_reader.h"

#include <map>
#include <utility>

namespace opwright::live {
namespace {

struct Row {
  Check::Kind kind;
  size_t entries;  // with the word, and without the arguments that it uses
};

const std::map<std::string, Row>& rows() {
  static const std::map<std::string, Row> table{
      {"dtype", {Check::Kind::kDtype, 3}},   {"dtype_like", {Check::Kind::kDtypeRule, 3}},
      {"rank", {Check::Kind::kRank, 5}},     {"size", {Check::Kind::kSize, 5}},
      {"span", {Check::Kind::kSpan, 5}},     {"value", {Check::Kind::kValue, 5}},
      {"member", {Check::Kind::kMember, 4}},
  };
  return table;
}

const std::map<std::string, Comparison>& comparisons() {
  static const std::map<std::string, Comparison> table{
      {"<", Comparison::kLess},          {"<=", Comparison::kLessEqual}, {">", Comparison::kGreater},
      {">=", Comparison::kGreaterEqual}, {"==", Comparison::kEqual},     {"!=", Comparison::kNotEqual},
  };
  return table;
}

}  // namespace

Member CheckReader::member(const std::string& place, const py::handle& value) const {
  Member result;
  result.text = py::str(value).cast<std::string>();
  if (py::isinstance<py::str>(value)) {
    result.value = value.cast<std::string>();
  } else if (PyBool_Check(value.ptr())) {
    result.value = value.cast<bool>();
  } else if (PyLong_Check(value.ptr())) {
    result.value = as<int64_t>(place, value, "an int of 64 bits");
  } else {
    result.value = as<double>(place, value, "a number or a text");
  }
  return result;
}

Check CheckReader::one(const std::string& place, const py::tuple& parts) const {
  const auto word = as<std::string>(place, parts[0], "a word");
  const auto found = rows().find(word);
  if (found == rows().end()) refuse(place, "no check is called '", word, "'");
  if (parts.size() != found->second.entries) {
    refuse(place, py::repr(parts), " does not have ", found->second.entries, " entries");
  }
  Check result;
  result.kind = found->second.kind;
  constexpr unsigned any = ~0u;
  const auto tensor = [&](unsigned types) { return argument(place, parts[1], types, "a tensor"); };
  switch (result.kind) {
    case Check::Kind::kDtype:
      result.argument = tensor(kTensorType | kTensorsType);
      for (const py::handle name : as_tuple(at(place, 2), parts[2], 1)) {
        result.dtypes.push_back(dtype_name(at(place, 2), name));
      }
      break;
    case Check::Kind::kDtypeRule:
      result.argument = tensor(kTensorType | kTensorsType);
      result.dtype = dtype(at(place, 2), parts[2]);
      break;
    case Check::Kind::kRank:
      result.argument = tensor(kTensorType);
      result.number = as<int64_t>(at(place, 2), parts[2], "a number");
      result.at_least = as<bool>(at(place, 3), parts[3], "a bool");
      break;
    case Check::Kind::kSize:
      result.argument = tensor(kTensorType);
      result.number = as<int64_t>(at(place, 2), parts[2], "a number");
      result.right = size(at(place, 3), parts[3]);
      break;
    case Check::Kind::kSpan:
      result.argument = tensor(kTensorType);
      result.spans = {shape(at(place, 2), parts[2]), shape(at(place, 3), parts[3])};
      break;
    case Check::Kind::kValue: {
      const auto sign = comparisons().find(as<std::string>(at(place, 2), parts[2], "a comparison"));
      if (sign == comparisons().end()) refuse(at(place, 2), "no comparison is called ", py::repr(parts[2]));
      result.left = size(at(place, 1), parts[1]);
      result.comparison = sign->second;
      result.right = size(at(place, 3), parts[3]);
      break;
    }
    case Check::Kind::kMember:
      result.argument = argument(place, parts[1], any, "an argument");
      for (const py::handle value : as_tuple(at(place, 2), parts[2], 1)) {
        result.members.push_back(member(at(place, 2), value));
      }
      break;
  }
  if (result.kind != Check::Kind::kDtype && result.kind != Check::Kind::kDtypeRule) {
    result.text = as<std::string>(place, parts[parts.size() - 1], "a text");
  }
  return result;
}

std::vector<Check> CheckReader::read(const std::string& place, const py::handle& value) const {
  std::vector<Check> result;
  const py::tuple entries = as_tuple(place, value, 0);
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string here = at(place, i);
    const py::tuple entry = as_tuple(here, entries[i], 2);
    Check check = one(here, as_tuple(here, entry[0], 3));
    for (const py::handle position : as_tuple(here, entry[1], 0)) {
      check.used.push_back(argument(here, position, ~0u, "an argument"));
    }
    result.push_back(std::move(check));
  }
  return result;
}

}  // namespace opwright::live
