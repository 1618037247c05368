// var.cpp: Var, Weights and the context's map.
#include "core/conversion/var/Var.h"

#include <ATen/core/stack.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/Exception.h>

#include "core/conversion/conversionctx/ConversionCtx.h"
#include "core/conversion/converters/Weights.h"
#include "core/util/prelude.h"

namespace torch_aie::core::conversion {

namespace {

constexpr const char* kKinds[] = {"a constant", "a tensor of the network", "a list"};

template <class T>
const T& get(const std::variant<c10::IValue, AscendIE::Tensor*, std::vector<Var>>& value, size_t wanted) {
  TORCH_CHECK_TYPE(value.index() == wanted, "the argument is ", kKinds[value.index()], ", expected ", kKinds[wanted]);
  return std::get<T>(value);
}

void expect(bool fits, const c10::IValue& value, const char* what) {
  TORCH_CHECK_TYPE(fits, "the argument has the kind ", value.tagKind(), ", expected ", what);
}

}  // namespace

AscendIE::Tensor* Var::getAscendTensor() const { return get<AscendIE::Tensor*>(value_, 1); }
const c10::IValue& Var::getIValue() const { return get<c10::IValue>(value_, 0); }
const std::vector<Var>& Var::getList() const { return get<std::vector<Var>>(value_, 2); }

AscendIE::Tensor* Var::getFreezeAscendTensor(ConversionCtx* ctx) const {
  if (isAscendTensor()) return getAscendTensor();
  const converters::Weights weights(ctx, unwrapToAtTensor());
  return ctx->net->AddConstant(weights.shape, weights.data)->GetOutput(0);
}

std::vector<AscendIE::Tensor*> Var::getFreezeAscendTensors(ConversionCtx* ctx) const {
  std::vector<AscendIE::Tensor*> tensors;
  if (isList()) {
    for (const Var& element : getList()) tensors.push_back(element.getFreezeAscendTensor(ctx));
  } else {
    expect(getIValue().isTensorList(), getIValue(), "a list of tensors");
    for (const at::Tensor& element : getIValue().toTensorVector()) {
      tensors.push_back(Var(c10::IValue(element)).getFreezeAscendTensor(ctx));
    }
  }
  return tensors;
}

int64_t Var::unwrapToInt() const {
  const c10::IValue& value = getIValue();
  if (value.isTensor()) return value.toTensor().item<int64_t>();
  expect(value.isInt(), value, "int");
  return value.toInt();
}

double Var::unwrapToDouble() const {
  const c10::IValue& value = getIValue();
  if (value.isTensor()) return value.toTensor().item<double>();
  expect(value.isDouble() || value.isInt(), value, "float");
  return value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble();
}

bool Var::unwrapToBool() const {
  expect(getIValue().isBool(), getIValue(), "bool");
  return getIValue().toBool();
}

std::string Var::unwrapToString() const {
  expect(getIValue().isString(), getIValue(), "str");
  return getIValue().toStringRef();
}

c10::Scalar Var::unwrapToScalar() const {
  const c10::IValue& value = getIValue();
  if (value.isTensor()) return value.toTensor().item();
  expect(value.isScalar(), value, "Scalar");
  return value.toScalar();
}

std::vector<int64_t> Var::unwrapToIntVector() const {
  if (isList()) {
    std::vector<int64_t> values;
    for (const Var& element : getList()) values.push_back(element.unwrapToInt());
    return values;
  }
  if (getIValue().isInt()) return {getIValue().toInt()};
  expect(getIValue().isIntList(), getIValue(), "int[]");
  return getIValue().toIntVector();
}

at::Tensor Var::unwrapToAtTensor() const {
  const c10::IValue& value = getIValue();
  if (value.isTensor()) return value.toTensor();
  expect(value.isScalar(), value, "Tensor");
  const at::ScalarType type = value.isDouble() ? at::kFloat : value.isInt() ? at::kLong : at::kBool;
  return at::scalar_tensor(value.toScalar(), type);
}

void ConversionCtx::AssociateValueAndVar(const torch::jit::Value* value, Var var) {
  value_var_map.insert_or_assign(value, std::move(var));
}

const Var* ConversionCtx::FindVar(const torch::jit::Value* value) const {
  const auto found = value_var_map.find(value);
  return found == value_var_map.end() ? nullptr : &found->second;
}

namespace converters {

Weights::Weights(ConversionCtx* /*ctx*/, const at::Tensor& tensor) : tensor_(tensor.detach().cpu().contiguous()) {
  data = {util::toDataType(tensor_.scalar_type()), tensor_.const_data_ptr(), static_cast<uint64_t>(tensor_.numel())};
  shape = util::toDims(tensor_.sizes());
}

}  // namespace converters

}  // namespace torch_aie::core::conversion
