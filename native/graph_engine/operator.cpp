// native/graph_engine/operator.cpp
// ge::Operator and ge::OperatorFactory: what the prototypes say of an operator type. An unknown type gives an empty
// operator, as in CANN.
#include "ge/operator.h"

#include <algorithm>
#include <utility>

#include "graph_engine/prototypes.h"
#include "graph_engine/status.h"
#include "runtime/call.h"

using opwright::graph_engine::find_prototype;
using opwright::graph_engine::Prototype;
using opwright::graph_engine::rejected;
using opwright::graph_engine::Words;

namespace ge {

class OperatorImpl {
 public:
  std::string type;
  std::shared_ptr<const Prototype> prototype;
};

namespace {

const char* printable(const char* text) { return text == nullptr ? "(null)" : text; }

// Elements of a dynamic input are numbered: x0, x1, …
bool is_input(const Prototype& prototype, const std::string& name) {
  const std::string stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
  return std::any_of(prototype.inputs.begin(), prototype.inputs.end(), [&](const Words::value_type& input) {
    return input.first == name || (input.second == "dynamic" && input.first == stem);
  });
}

// Without a prototype: nullptr and, for the caller's error message, why.
std::shared_ptr<const Prototype> known(const char* function, const char* type) {
  std::shared_ptr<const Prototype> found;
  const int status = opwright::call(function, [&] { found = find_prototype(type); });
  if (status == 0 && found == nullptr) rejected(function, "operator type '", printable(type), "' is not known");
  return found;
}

}  // namespace

bool Operator::IsEmpty() const { return impl_ == nullptr; }

graphStatus Operator::UpdateInputDesc(const char* name, const TensorDesc&) {
  constexpr char kFunction[] = "ge::Operator::UpdateInputDesc";
  if (impl_ == nullptr) return rejected(kFunction, "input '", printable(name), "' of an empty operator");
  if (name != nullptr && is_input(*impl_->prototype, name)) return GRAPH_SUCCESS;
  return rejected(kFunction, impl_->type, " has no input '", printable(name), "'");
}

graphStatus Operator::GetAllIrAttrNamesAndTypes(std::map<AscendString, AscendString>& names_and_types) const {
  if (impl_ == nullptr) return rejected("ge::Operator::GetAllIrAttrNamesAndTypes", "the operator is empty");
  for (const auto& [name, type] : impl_->prototype->attributes) {
    names_and_types[AscendString(name.c_str())] = AscendString(type.c_str());
  }
  return GRAPH_SUCCESS;
}

Operator OperatorFactory::CreateOperator(const char*, const char* type) {
  Operator result;
  if (auto prototype = known("ge::OperatorFactory::CreateOperator", type)) {
    result.impl_ = std::make_shared<OperatorImpl>(OperatorImpl{type, std::move(prototype)});
  }
  return result;
}

bool OperatorFactory::IsExistOp(const char* type) { return known("ge::OperatorFactory::IsExistOp", type) != nullptr; }

}  // namespace ge
