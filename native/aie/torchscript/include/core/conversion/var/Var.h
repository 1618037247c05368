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
  Var() = default;
  Var(AscendIE::Tensor* tensor) : value_(tensor) {}  // NOLINT: converters write Var(layer->GetOutput(0))
  explicit Var(c10::IValue value) : value_(std::move(value)) {}
  explicit Var(std::vector<Var> list) : value_(std::move(list)) {}

  bool isAscendTensor() const { return std::holds_alternative<AscendIE::Tensor*>(value_); }
  bool isIValue() const { return std::holds_alternative<c10::IValue>(value_); }
  bool isList() const { return std::holds_alternative<std::vector<Var>>(value_); }
  bool isNone() const { return isIValue() && std::get<c10::IValue>(value_).isNone(); }

  /// Throw c10::Error if it is something else.
  AscendIE::Tensor* getAscendTensor() const;
  const c10::IValue& getIValue() const;
  const std::vector<Var>& getList() const;
  /// The tensor, or a constant of the network with this value.
  AscendIE::Tensor* getFreezeAscendTensor(ConversionCtx* ctx) const;
  /// The same for each element of a list.
  std::vector<AscendIE::Tensor*> getFreezeAscendTensors(ConversionCtx* ctx) const;

  int64_t unwrapToInt() const;
  int64_t unwrapToInt(int64_t absent) const { return isNone() ? absent : unwrapToInt(); }
  double unwrapToDouble() const;
  double unwrapToDouble(double absent) const { return isNone() ? absent : unwrapToDouble(); }
  bool unwrapToBool() const;
  bool unwrapToBool(bool absent) const { return isNone() ? absent : unwrapToBool(); }
  std::string unwrapToString() const;
  c10::Scalar unwrapToScalar() const;
  std::vector<int64_t> unwrapToIntVector() const;
  at::Tensor unwrapToAtTensor() const;

 private:
  std::variant<c10::IValue, AscendIE::Tensor*, std::vector<Var>> value_;
};

}  // namespace torch_aie::core::conversion
