// native/live/plan/check_reader.cpp
#include "live/plan/check_reader.h"

#include <map>
#include <utility>

namespace opwright::live {
namespace {

struct Row {
  Check::Kind kind;
  size_t entries;  // with the word and the texts
  size_t values;   // that the texts stand around
};

const std::map<std::string, Row>& rows() {
  static const std::map<std::string, Row> table{
      {"dtype", {Check::Kind::kDtype, 4, 2}},   {"dtype_like", {Check::Kind::kDtypeRule, 4, 2}},
      {"rank", {Check::Kind::kRank, 5, 1}},     {"size", {Check::Kind::kSize, 5, 2}},
      {"span", {Check::Kind::kSpan, 4, 2}},     {"value", {Check::Kind::kValue, 5, 2}},
      {"member", {Check::Kind::kMember, 4, 1}},
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

// A value in the form that the argument has.
c10::IValue CheckReader::member(const std::string& place, const py::handle& value, size_t argument) const {
  const unsigned type = category(schema_.arguments()[argument].real_type());
  if (type == kTextType) return as<std::string>(place, value, "a text");
  if (type == kFloatType) return as<double>(place, value, "a number");
  return as<int64_t>(place, value, "an int of 64 bits");
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
      result.spans = {shape(at(place, 1), parts[1]), shape(at(place, 2), parts[2])};
      break;
    case Check::Kind::kValue: {
      const auto sign = comparisons().find(as<std::string>(at(place, 2), parts[2], "a comparison"));
      if (sign == comparisons().end()) refuse(at(place, 2), "no comparison is called ", py::repr(parts[2]));
      result.left = size(at(place, 1), parts[1], /*may_be_real=*/true);
      result.comparison = sign->second;
      result.right = size(at(place, 3), parts[3], /*may_be_real=*/true);
      break;
    }
    case Check::Kind::kMember:
      result.argument = argument(place, parts[1], kIntType | kFloatType | kTextType, "an int, a float or a text");
      for (const py::handle value : as_tuple(at(place, 2), parts[2], 1)) {
        result.members.push_back(member(at(place, 2), value, result.argument));
      }
      break;
  }
  const std::string texts = at(place, parts.size() - 1);
  result.texts = as<std::vector<std::string>>(texts, parts[parts.size() - 1], "a tuple of texts");
  if (result.texts.size() != found->second.values + 1) {
    refuse(texts, "has ", result.texts.size(), " texts; around ", found->second.values, " value(s) there is one more");
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
