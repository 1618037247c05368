// native/abi/ge/operator.h
// Operators as callers see them, and the factory that knows which operator types exist.
#pragma once

#include <map>
#include <memory>

#include "ge/ascend_string.h"
#include "ge/tensor.h"
#include "ge/types.h"

#pragma GCC visibility push(default)
namespace ge {

class OperatorImpl;

class Operator {
 public:
  Operator() = default;
  virtual ~Operator() = default;

  bool IsEmpty() const;
  graphStatus UpdateInputDesc(const char* name, const TensorDesc& desc);
  // Attributes that the operator's prototype declares: name -> type, for example VT_INT.
  graphStatus GetAllIrAttrNamesAndTypes(std::map<AscendString, AscendString>& names_and_types) const;

 private:
  friend class OperatorFactory;
  std::shared_ptr<OperatorImpl> impl_;
};

static_assert(sizeof(Operator) == 24);

class OperatorFactory {
 public:
  // An empty operator for an unknown type.
  static Operator CreateOperator(const char* name, const char* type);
  static bool IsExistOp(const char* type);
};

}  // namespace ge
#pragma GCC visibility pop
