// conversion/var.cpp: Var, Weights and the context's map.
#include "core/conversion/var/Var.h"

#include <ATen/core/stack.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/Exception.h>

#include "core/conversion/conversionctx/ConversionCtx.h"
#include "core/conversion/converters/Weights.h"
#include "core/util/prelude.h"

namespace torch_aie::core::conversion {

namespace {

void expect(bool fits, const Var& var, const char* what) {
  TORCH_CHECK_TYPE(fits, "the argument is ", var.typeName(), ", expected ", what);
}

/// Later nodes use what a value is associated with, and could not say which converter gave a null pointer.
void expect_tensors(const Var& var, const torch::jit::Value& value) {
  try {
    if (var.isAscendTensor()) var.getAscendTensor();
  } catch (const c10::ValueError& e) {
    TORCH_CHECK_VALUE(false, "the output %", value.debugName(), ": ", e.what_without_backtrace());
  }
  if (!var.isList()) return;
  for (const Var& element : var.getList()) expect_tensors(element, value);
}

/// Numbers of which the value is not known before the model runs.
bool is_late_number(const AscendIE::Tensor* tensor) {
  return tensor->GetType() != AscendIE::DataType::UNKNOWN && tensor->GetDimensions().Empty();
}

}  // namespace

Var::Type Var::type() const { return isAscendTensor() ? kTensor : isList() ? kList : isNone() ? kNone : kIValue; }

std::string Var::typeName() const {
  switch (type()) {
    case kNone:
      return "None";
    case kTensor: {
      const AscendIE::Tensor* const tensor = std::get<AscendIE::Tensor*>(value_);
      if (tensor == nullptr) return "a null tensor";
      const AscendIE::Dims dims = tensor->GetDimensions();
      return c10::str("a tensor of the network with the shape ", at::IntArrayRef(dims.begin(), dims.end()));
    }
    case kIValue:
      return "a constant of kind " + std::get<c10::IValue>(value_).tagKind();
    case kList:
      return c10::str("a list of ", std::get<std::vector<Var>>(value_).size());
  }
  return "";
}

template <class T>
const T& Var::get(const char* wanted) const {
  expect(std::holds_alternative<T>(value_), *this, wanted);
  return std::get<T>(value_);
}

AscendIE::Tensor* Var::getAscendTensor() const {
  AscendIE::Tensor* const tensor = get<AscendIE::Tensor*>("a tensor of the network");
  TORCH_CHECK_VALUE(tensor != nullptr, "the tensor is null; BaseLayer::GetOutput(index) gives a null pointer for an ",
                    "index from BaseLayer::GetOutputCount() on");
  return tensor;
}

const std::vector<Var>& Var::getList() const { return get<std::vector<Var>>("a list"); }

const c10::IValue& Var::getIValue() const {
  TORCH_CHECK_NOT_IMPLEMENTED(!isAscendTensor() || !is_late_number(getAscendTensor()),
                              "the argument is a number that is known only when the model runs, expected a constant");
  return get<c10::IValue>("a constant");
}

AscendIE::Tensor* Var::getFreezeAscendTensor(ConversionCtx* ctx) const {
  if (isAscendTensor()) return getAscendTensor();
  const converters::Weights weights(ctx, unwrapToAtTensor());
  return ctx->net->AddConstant(weights.shape, weights.data)->GetOutput(0);
}

std::vector<Var> Var::elements(const char* wanted) const {
  if (isList()) return getList();
  const c10::IValue& value = getIValue();
  expect(!value.isNone(), *this, wanted);
  if (!value.isList()) return {*this};
  std::vector<Var> all;
  for (const c10::IValue& element : value.toListRef()) all.emplace_back(element);
  return all;
}

std::vector<AscendIE::Tensor*> Var::getFreezeAscendTensors(ConversionCtx* ctx) const {
  expect(isList() || getIValue().isList(), *this, "a list of tensors");
  std::vector<AscendIE::Tensor*> tensors;
  for (const Var& element : elements("a list of tensors")) tensors.push_back(element.getFreezeAscendTensor(ctx));
  return tensors;
}

int64_t Var::unwrapToInt() const {
  const c10::IValue& value = getIValue();
  if (value.isTensor()) return value.toTensor().item<int64_t>();
  expect(value.isInt(), *this, "int");
  return value.toInt();
}

double Var::unwrapToDouble() const {
  const c10::IValue& value = getIValue();
  if (value.isTensor()) return value.toTensor().item<double>();
  expect(value.isDouble() || value.isInt(), *this, "float");
  return value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble();
}

bool Var::unwrapToBool() const {
  const c10::IValue& value = getIValue();
  if (value.isTensor()) return value.toTensor().item<bool>();
  expect(value.isBool(), *this, "bool");
  return value.toBool();
}

std::string Var::unwrapToString() const {
  expect(getIValue().isString(), *this, "str");
  return getIValue().toStringRef();
}

c10::Scalar Var::unwrapToScalar() const {
  const c10::IValue& value = getIValue();
  if (value.isTensor()) return value.toTensor().item();
  expect(value.isScalar(), *this, "Scalar");
  return value.toScalar();
}

at::Tensor Var::unwrapToAtTensor() const {
  const c10::IValue& value = getIValue();
  if (value.isTensor()) return value.toTensor();
  expect(value.isScalar(), *this, "Tensor");
  const at::ScalarType type = value.isDouble() ? at::kFloat : value.isInt() ? at::kLong : at::kBool;
  return at::scalar_tensor(value.toScalar(), type);
}

std::vector<int64_t> Var::unwrapToIntVector() const {
  std::vector<int64_t> values;
  for (const Var& element : elements("int[]")) values.push_back(element.unwrapToInt());
  return values;
}

std::vector<double> Var::unwrapToDoubleVector() const {
  std::vector<double> values;
  for (const Var& element : elements("float[]")) values.push_back(element.unwrapToDouble());
  return values;
}

std::vector<bool> Var::unwrapToBoolVector() const {
  std::vector<bool> values;
  for (const Var& element : elements("bool[]")) values.push_back(element.unwrapToBool());
  return values;
}

std::vector<at::Tensor> Var::unwrapToAtTensorVector() const {
  std::vector<at::Tensor> values;
  for (const Var& element : elements("Tensor[]")) values.push_back(element.unwrapToAtTensor());
  return values;
}

c10::List<bool> Var::unwrapToBoolList() const {
  c10::List<bool> values;
  for (const bool value : unwrapToBoolVector()) values.push_back(value);
  return values;
}

void ConversionCtx::AssociateValueAndVar(const torch::jit::Value* value, Var var) {
  TORCH_CHECK_VALUE(value != nullptr, "AssociateValueAndVar: the value is null");
  expect_tensors(var, *value);
  const bool is_first = value_var_map.emplace(value, std::move(var)).second;
  TORCH_CHECK_VALUE(is_first, "AssociateValueAndVar: %", value->debugName(),
                    " has a value already; a converter associates each output of its own node once");
}

const Var* ConversionCtx::FindVar(const torch::jit::Value* value) const {
  const auto found = value_var_map.find(value);
  return found == value_var_map.end() ? nullptr : &found->second;
}

namespace converters {

Weights::Weights(ConversionCtx* /*ctx*/, const at::Tensor& tensor) : tensor_(tensor.detach().cpu().contiguous()) {
  TORCH_CHECK_VALUE(tensor_.dim() <= AscendIE::Dims::MAX_DIMS, "the constant has rank ", tensor_.dim(),
                    ", allowed are at most ", AscendIE::Dims::MAX_DIMS);
  data = {util::toDataType(tensor_.scalar_type()), tensor_.const_data_ptr(), static_cast<uint64_t>(tensor_.numel())};
  shape = util::toDims(tensor_.sizes());
}

}  // namespace converters

}  // namespace torch_aie::core::conversion
