// native/live/plan/check_reader.h
#pragma once

#include "live/plan/rule_reader.h"

namespace opwright::live {

// The checks of a plan.
class CheckReader : private RuleReader {
 public:
  explicit CheckReader(const c10::OperatorHandle& op) : RuleReader(op) {}

  std::vector<Check> read(const std::string& place, const py::handle& value) const;

 private:
  Check one(const std::string& place, const py::tuple& parts) const;
  c10::IValue member(const std::string& place, const py::handle& value, size_t argument) const;
};

}  // namespace opwright::live
