// native/graph/operator.cpp
// ge::Operator and ge::OperatorFactory. This version knows no operator prototypes, so no type exists and every operator
// is empty; both answers are what CANN gives for a type that it does not know.
#include "ge/operator.h"

#include "graph/status.h"
#include "runtime/call.h"

using opwright::graph::rejected;

OPWRIGHT_MARK_REFUSED(_ZN2ge15OperatorFactory9IsExistOpEPKc);
OPWRIGHT_MARK_REFUSED(_ZN2ge15OperatorFactory14CreateOperatorEPKcS2_);
OPWRIGHT_MARK_REFUSED(_ZN2ge8Operator15UpdateInputDescEPKcRKNS_10TensorDescE);
OPWRIGHT_MARK_REFUSED(
    _ZNK2ge8Operator25GetAllIrAttrNamesAndTypesERSt3mapINS_12AscendStringES2_St4lessIS2_ESaISt4pairIKS2_S2_EEE);

namespace ge {
namespace {

constexpr char kWhy[] = "this version has no operator prototypes (graph mode)";

const char* printable(const char* text) { return text == nullptr ? "(null)" : text; }

}  // namespace

bool Operator::IsEmpty() const { return impl_ == nullptr; }

graphStatus Operator::UpdateInputDesc(const char* name, const TensorDesc&) {
  return rejected("ge::Operator::UpdateInputDesc", "input '", printable(name), "' of an empty operator: ", kWhy);
}

graphStatus Operator::GetAllIrAttrNamesAndTypes(std::map<AscendString, AscendString>&) const {
  return rejected("ge::Operator::GetAllIrAttrNamesAndTypes", "the operator is empty: ", kWhy);
}

Operator OperatorFactory::CreateOperator(const char*, const char* type) {
  rejected("ge::OperatorFactory::CreateOperator", "operator type '", printable(type), "' is not known: ", kWhy);
  return {};
}

bool OperatorFactory::IsExistOp(const char* type) {
  rejected("ge::OperatorFactory::IsExistOp", "operator type '", printable(type), "' is not known: ", kWhy);
  return false;
}

}  // namespace ge
