// core/conversion/var/Var.h: an argument of a converter: a tensor of the network, a constant, or a list of such.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <variant>
#include <vector>

#include "common/Common.h"
#include "network/Tensor.h"

namespace torch_aie::core::conversion {

struct ConversionCtx;

class ASCENDIE_API Var {
 public:
  enum Type { kNone, kTensor, kIValue, kList };

  Var() = default;
  Var(AscendIE::Tensor* tensor) : value_(tensor) {}  // NOLINT: converters write Var(layer->GetOutput(0))
  explicit Var(c10::IValue value) : value_(std::move(value)) {}
  explicit Var(std::vector<Var> list) : value_(std::move(list)) {}

  bool isAscendTensor() const { return std::holds_alternative<AscendIE::Tensor*>(value_); }
  bool isIValue() const { return std::holds_alternative<c10::IValue>(value_); }
  bool isList() const { return std::holds_alternative<std::vector<Var>>(value_); }
  bool isNone() const { return isIValue() && std::get<c10::IValue>(value_).isNone(); }
  Type type() const;
  /// "a constant of kind Int", "a tensor of the network with the shape [2, -1]", "a list of 3".
  std::string typeName() const;

  /// Throw c10::Error if it is something else.
  AscendIE::Tensor* getAscendTensor() const;
  const c10::IValue& getIValue() const;
  const std::vector<Var>& getList() const;
  /// The tensor, or a constant of the network with this value.
  AscendIE::Tensor* getFreezeAscendTensor(ConversionCtx* ctx) const;
  /// The same for each element of a list.
  std::vector<AscendIE::Tensor*> getFreezeAscendTensors(ConversionCtx* ctx) const;

  // The value of a constant. They throw c10::TypeError if it is of another kind, and c10::NotImplementedError if it is
  // an integer that is known only when the model runs: a tensor without dimensions. Those with `absent` give that for
  // None.
  int64_t unwrapToInt() const;
  int64_t unwrapToInt(int64_t absent) const { return isNone() ? absent : unwrapToInt(); }
  double unwrapToDouble() const;
  double unwrapToDouble(double absent) const { return isNone() ? absent : unwrapToDouble(); }
  bool unwrapToBool() const;
  bool unwrapToBool(bool absent) const { return isNone() ? absent : unwrapToBool(); }
  std::string unwrapToString() const;
  std::string unwrapToString(const std::string& absent) const { return isNone() ? absent : unwrapToString(); }
  c10::Scalar unwrapToScalar() const;
  c10::Scalar unwrapToScalar(const c10::Scalar& absent) const { return isNone() ? absent : unwrapToScalar(); }
  c10::ScalarType unwrapToScalarType() const { return static_cast<c10::ScalarType>(unwrapToInt()); }
  c10::ScalarType unwrapToScalarType(c10::ScalarType absent) const { return isNone() ? absent : unwrapToScalarType(); }
  at::Tensor unwrapToAtTensor() const;
  at::Tensor unwrapToAtTensor(const at::Tensor& absent) const { return isNone() ? absent : unwrapToAtTensor(); }

  // A list, or one element in place of a list of one.
  std::vector<int64_t> unwrapToIntVector() const;
  std::vector<int64_t> unwrapToIntVector(const std::vector<int64_t>& absent) const {
    return isNone() ? absent : unwrapToIntVector();
  }
  std::vector<double> unwrapToDoubleVector() const;
  std::vector<double> unwrapToDoubleVector(const std::vector<double>& absent) const {
    return isNone() ? absent : unwrapToDoubleVector();
  }
  std::vector<bool> unwrapToBoolVector() const;
  std::vector<bool> unwrapToBoolVector(const std::vector<bool>& absent) const {
    return isNone() ? absent : unwrapToBoolVector();
  }
  std::vector<at::Tensor> unwrapToAtTensorVector() const;
  c10::List<int64_t> unwrapToIntList() const { return c10::List<int64_t>(unwrapToIntVector()); }
  c10::List<double> unwrapToDoubleList() const { return c10::List<double>(unwrapToDoubleVector()); }
  c10::List<bool> unwrapToBoolList() const;

 private:
  template <class T>
  const T& get(const char* wanted) const;
  std::vector<Var> elements(const char* wanted) const;

  std::variant<c10::IValue, AscendIE::Tensor*, std::vector<Var>> value_;
};

}  // namespace torch_aie::core::conversion
